export * from './ensemble';
export * from './installation';
export * from './locate';
export * from './node';
export { findJava, howToGetJava } from './java';
export { freePorts } from './ports';
