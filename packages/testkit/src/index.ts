export * from './simulation/simulated-clock';
export * from './history/check-history';
export * from './history/history';
export * from './contracts/coordinator-contract';
export * from './contracts/embedded-harness';
export * from './simulation/simulated-disk';
export * from './simulation/simulated-network';
