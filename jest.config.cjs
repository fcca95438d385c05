const projects = {
  // Beside the sources: no processes, no network, no ZooKeeper.
  unit: ['<rootDir>/packages/*/src/**/*.test.ts'],
  // Whatever crosses packages or needs the real world.
  cross: ['<rootDir>/test/**/*.test.ts'],
};

/** @type {import('jest').Config} */
module.exports = {
  rootDir: __dirname,
  testMatch: [...projects.unit, ...projects.cross],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/'],
  testEnvironment: 'node',
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }],
  },
  moduleNameMapper: { '^@tributary/([a-z]+)$': '<rootDir>/packages/$1/src' },
  reporters: ['default', '<rootDir>/scripts/plain-line-reporter.cjs'],
  // One more than cores: the tests on real processes wait more than they work.
  maxWorkers: 3,
  testTimeout: 60_000,
};
