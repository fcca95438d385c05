import type { ClusterBroker } from './broker-process';
import { describeCluster } from './cluster-description';
import { failureLine, knownSignal, parseFailureLine } from './up';
import { TributaryError } from '@tributary/common';

const broker = (id: number, port: number) =>
  ({ id, host: '127.0.0.1', port, httpPort: port + 100 }) as ClusterBroker;

test('addresses, and the two next commands to type', () => {
  const lines = describeCluster({
    brokers: [broker(1, 9292), broker(2, 9293)],
    addresses: [],
    zookeeper: '127.0.0.1:2181',
  });
  expect(lines).toEqual([
    '',
    'The cluster is healthy:',
    '  ZooKeeper  127.0.0.1:2181',
    '  broker 1   127.0.0.1:9292   http://127.0.0.1:9392/readyz',
    '  broker 2   127.0.0.1:9293   http://127.0.0.1:9393/readyz',
    '',
    'Type in a second terminal:',
    '  npx trib topic create hello',
    "  echo 'hello, world' | npx trib produce hello",
    '',
  ]);
});

test('on other ports the commands name them', () => {
  const lines = describeCluster({
    brokers: [broker(1, 7001)],
    addresses: ['127.0.0.1:7001'],
    zookeeper: undefined,
  });
  expect(lines).toContain('  npx trib topic create hello --brokers 127.0.0.1:7001');
});

test('signals by name, with or without SIG; others are refused with the list', () => {
  expect([knownSignal('SIGSTOP'), knownSignal('CONT')]).toEqual(['SIGSTOP', 'SIGCONT']);
  expect(() => knownSignal('SIGHUP')).toThrow('SIGHUP is not a signal that can be sent');
});

test('a failure crosses from the background supervisor to the terminal', () => {
  const error = new TributaryError('ADDRESS_IN_USE', 'port 1 is in use', { hint: 'Free it.' });
  const { code, message, hint } = parseFailureLine(failureLine(error));
  expect({ code, message, hint }).toEqual({
    code: 'ADDRESS_IN_USE',
    message: 'port 1 is in use',
    hint: 'Free it.',
  });
});
