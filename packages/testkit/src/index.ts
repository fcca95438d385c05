export * from './simulation/simulated-clock';
