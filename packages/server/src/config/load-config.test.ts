import { loadConfig, type LoadedConfig } from './load-config';
import { printConfig, printHelp } from './print-config';
import { settingNames, variableName } from './settings';

const minimal = ['--broker-id', '1', '--data-dir', '/data', '--zookeeper', 'zk:2181'];

function load(args: string[], environment: Record<string, string> = {}): LoadedConfig {
  return loadConfig([...minimal, ...args], environment);
}

function problems(loaded: LoadedConfig): readonly string[] {
  return loaded.ok ? [] : loaded.problems;
}

function config(loaded: LoadedConfig) {
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}

test('three settings are enough; everything listens on loopback then', () => {
  const { listeners, httpHost, httpPort, zookeeperSessionTimeoutMs } = config(load([]));
  expect(listeners).toEqual([{ listener: 'outside', host: '127.0.0.1', port: 9292 }]);
  expect([httpHost, httpPort, zookeeperSessionTimeoutMs]).toEqual(['127.0.0.1', 9392, 10_000]);
});

test('every setting has an environment variable, and a flag wins over it', () => {
  const environment = { TRIBUTARY_BROKER_ID: '7', TRIBUTARY_HTTP_PORT: '1234' };
  const loaded = config(load([], environment));
  expect([loaded.brokerId, loaded.httpPort]).toEqual([1, 1234]);
  for (const name of settingNames) expect(printHelp()).toContain(variableName(name));
});

test('an unknown TRIBUTARY_ variable is an error with a suggestion; those of the CLI are not', () => {
  expect(
    problems(load([], { TRIBUTARY_BROKER_IDD: '1', TRIBUTARY_BROKERS: 'a:1', HOME: '/' })),
  ).toEqual([
    'environment variable TRIBUTARY_BROKER_IDD is not a setting of a broker. ' +
      'Did you mean TRIBUTARY_BROKER_ID?',
  ]);
});

test('every problem is listed at once', () => {
  const loaded = loadConfig(
    ['--broker-id=x', '--http-prot', '1', '--zookeeper', 'nowhere', '--log-level', 'loud', 'extra'],
    {},
  );
  expect(problems(loaded)).toEqual([
    'flag --http-prot does not exist. Did you mean --http-port?',
    'argument "extra" is not expected. Settings are flags.',
    'setting broker.id="x" (from --broker-id) must be a whole number from 0 to 2147483647. ' +
      'Correct --broker-id or TRIBUTARY_BROKER_ID.',
    'setting data.dir is missing. Give it with --data-dir or TRIBUTARY_DATA_DIR.',
    'setting zookeeper="nowhere" (from --zookeeper) is not of the form ' +
      'HOST:PORT[,HOST:PORT...][/CHROOT]. Correct --zookeeper or TRIBUTARY_ZOOKEEPER.',
    'setting log.level="loud" (from --log-level) must be one of debug, info, warn, error. ' +
      'Correct --log-level or TRIBUTARY_LOG_LEVEL.',
  ]);
});

test('a flag without its value is named', () => {
  expect(problems(load(['--http-port']))).toEqual([
    'flag --http-port has no value. Write --http-port VALUE.',
  ]);
});

test('advertising 0.0.0.0 is refused, also when it comes from the bind address', () => {
  const message =
    'setting advertised.listeners: outside://0.0.0.0:9292 is an address that ' +
    'nobody can connect to. Give a host name or address that clients reach with ' +
    '--advertised-listeners outside://HOST:9292.';
  expect(problems(load(['--listeners', 'outside://0.0.0.0:9292']))).toEqual([message]);
  expect(problems(load(['--advertised-listeners', 'outside://[::]:9292']))).toHaveLength(1);
  const inContainer = ['--listeners', 'outside://0.0.0.0:9292'];
  expect(
    config(load([...inContainer, '--advertised-listeners', 'outside://localhost:9292'])),
  ).toMatchObject({ advertisedListeners: [{ host: 'localhost' }] });
});

test('listeners and advertised listeners name the same listeners', () => {
  const loaded = load([
    '--listeners',
    'inside://a:1,outside://a:2',
    '--advertised-listeners',
    'in://a:1',
  ]);
  expect(problems(loaded)).toHaveLength(3);
});

test('a chroot is kept apart from the servers', () => {
  expect(config(load(['--zookeeper', 'a:1,b:2/tributary/one/'])).zookeeper).toEqual({
    servers: 'a:1,b:2',
    chroot: '/tributary/one',
  });
});

test('--print-config says where each value comes from', () => {
  const loaded = load(['--listeners', 'outside://[::1]:9292'], { TRIBUTARY_RACK: 'r1' });
  if (!loaded.ok) throw new Error('not valid');
  const lines = printConfig(loaded.config, loaded.sources).split('\n');
  expect(lines).toHaveLength(settingNames.length);
  expect(lines).toEqual(
    expect.arrayContaining([
      'broker.id=1  # --broker-id',
      'zookeeper=zk:2181  # --zookeeper',
      'rack=r1  # TRIBUTARY_RACK',
      'http.port=9392  # default',
      'listeners=outside://[::1]:9292  # --listeners',
    ]),
  );
});

test('log directories are listed, made absolute, and none is named twice or within another', () => {
  expect(config(load([])).logDirs).toBeUndefined();
  expect(config(load(['--log-dirs', '/disk-1, /disk-2/logs'])).logDirs).toEqual([
    '/disk-1',
    '/disk-2/logs',
  ]);
  const refused = (text: string): string | undefined => problems(load(['--log-dirs', text]))[0];
  expect(refused('/a,/b/../a')).toContain('names /a twice');
  expect(refused('/a,/a/b')).toContain('names /a/b within /a');
  expect(refused('/a,,/b')).toContain('names an empty directory');
  const shown = load([], { TRIBUTARY_LOG_DIRS: '/a,/b' });
  if (!shown.ok) throw new Error('not valid');
  expect(printConfig(shown.config, shown.sources)).toContain(
    'log.dirs=/a,/b  # TRIBUTARY_LOG_DIRS',
  );
});
