export * from './coordinator';
export * from './group-store';
export * from './nouns';
