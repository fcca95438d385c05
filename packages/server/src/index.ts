/** For the testing package and for chaos runs. The processes start at `main.ts` and `embedded.ts`. */
export { v8Flags } from './v8-flags'; // first: it sets them
export { EmbeddedCluster } from './embedded/embedded-cluster';
export type { EmbeddedBrokerAddress, EmbeddedClusterOptions } from './embedded/embedded-cluster';
export { createLogger } from './logger';
export { diskParts } from './real-parts';
export { runBroker } from './run-broker';
