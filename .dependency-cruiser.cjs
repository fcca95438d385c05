// The walls of the house (ARCHITECTURE.md): imports point down the layers, never sideways within layer 3.
const layers = {
  common: [],
  record: ['common'],
  protocol: ['common'],
  log: ['common', 'record'],
  coordination: ['common'],
  broker: ['common', 'record', 'protocol', 'log', 'coordination'],
  client: ['common', 'record', 'protocol', 'coordination'],
  server: ['common', 'record', 'protocol', 'log', 'coordination', 'broker'],
  testing: ['common', 'record', 'protocol', 'log', 'coordination', 'broker', 'client', 'server'],
  cli: ['common', 'record', 'protocol', 'log', 'coordination', 'client', 'server'],
};

const walls = Object.entries(layers).map(([name, allowed]) => ({
  name: `wall-${name}`,
  comment: `${name} may import only: ${allowed.join(', ') || 'nothing'}`,
  severity: 'error',
  from: { path: `^packages/${name}/src`, pathNot: '\\.(test|fixture)\\.ts$' },
  to: { path: '^packages/', pathNot: `^packages/(${[name, ...allowed].join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...walls,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'one-file-imports-zookeeper-client',
      severity: 'error',
      from: {
        path: '^packages/',
        pathNot: '^packages/coordination/src/zookeeper/client-session\\.ts$',
      },
      to: { path: 'node-zookeeper-client', pathNot: '^packages/' },
    },
    {
      name: 'only-the-protocol-package-imports-grpc',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/protocol/src/' },
      to: { path: 'node_modules/(@grpc|grpc-health-check|protobufjs)' },
    },
    {
      name: 'no-test-code-in-production',
      severity: 'error',
      from: { path: '^packages/(?!testkit)', pathNot: '\\.(test|fixture)\\.ts$' },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'enter-packages-by-their-index',
      severity: 'error',
      from: { path: '^packages/([a-z]+)/' },
      to: { path: '^packages/([a-z]+)/src/', pathNot: ['^packages/$1/', '/src/index\\.ts$'] },
    },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|generated)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
  },
};
