export * from './disk';
export * from './partition-log';
