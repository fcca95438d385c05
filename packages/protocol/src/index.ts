export * from './error-mapping';
export * from './generated';
export * from './hello';
export * from './method';
export * from './methods';
export * from './transport';
