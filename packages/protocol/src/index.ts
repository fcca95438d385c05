export * from './error-mapping';
export * from './generated';
export * from './method';
export * from './methods';
export * from './transport';
