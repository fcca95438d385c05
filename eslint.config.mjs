// House rules that a machine can check. Import walls between packages are in .dependency-cruiser.cjs.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const ports =
  'goes through a port (Clock, Random, Disk, Transport), so that a whole cluster can run simulated';
const globalsBehindPorts = ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate'].map(
  (name) => ({ name, message: `${name} ${ports}` }),
);
const modulesBehindPorts = [
  'fs',
  'fs/promises',
  'net',
  'http',
  'http2',
  'dgram',
  'zlib',
  'child_process',
].flatMap((name) => [
  { name, message: `${name} ${ports}` },
  { name: `node:${name}`, message: `${name} ${ports}` },
]);

export default tseslint.config(
  { ignores: ['**/dist/**', '**/generated/**', 'node_modules/**', '.cache/**', '.tributary/**'] },
  js.configs.recommended,
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        module: 'writable',
        require: 'readonly',
        __dirname: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        performance: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
      },
    },
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { attributes: false } },
      ],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 5],
    },
  },
  {
    // One noun a file: what grows beyond this is two.
    files: ['packages/*/src/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.fixture.ts', 'packages/testkit/src/contracts/**'],
    rules: { 'max-lines': ['error', { max: 350 }] },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.fixture.ts', 'packages/testkit/**', 'packages/cli/**'],
    rules: {
      'no-restricted-globals': ['error', ...globalsBehindPorts],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: `Math.random ${ports}` },
      ],
      'no-restricted-imports': ['error', { paths: modulesBehindPorts }],
    },
  },
  {
    // The files that are the ports' real sides.
    files: [
      'packages/common/src/clock.ts',
      'packages/common/src/random.ts',
      'packages/log/src/disk/node-disk*.ts',
      'packages/protocol/src/grpc/**/*.ts',
      'packages/record/src/codec/*.ts',
      'packages/server/src/**/*.ts',
    ],
    rules: {
      'no-restricted-globals': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-imports': 'off',
    },
  },
  {
    files: ['**/*.test.ts', '**/*.fixture.ts', 'test/**/*.ts', 'packages/testkit/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
