/** For the testing package. The processes start at `main.ts` and `embedded.ts`. */
export { EmbeddedCluster } from './embedded/embedded-cluster';
export type { EmbeddedBrokerAddress, EmbeddedClusterOptions } from './embedded/embedded-cluster';
export { createLogger } from './logger';
