/** What other packages of the house use of the CLI: the parts of `trib dev`. */
export * from './dev/zookeeper';
