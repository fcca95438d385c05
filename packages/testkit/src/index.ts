export * from './simulation/simulated-clock';
export * from './history/check-history';
export * from './history/history';
