export * from './test-cluster';
