import { describeDeath, describeLogLine } from './cluster-events';

const line = (level: string, message: string, fields: object = {}) =>
  describeLogLine(JSON.stringify({ time: 't', level, broker: 2, message, ...fields }));

test('one readable line for each line of the log', () => {
  expect(line('info', 'leader moved', { topic: 'orders', partition: 3, topicId: 'x' })).toBe(
    'broker 2: leader moved topic=orders partition=3',
  );
  expect(line('warn', 'slow', { error: { code: 'TIMEOUT', message: 'too late' } })).toBe(
    'WARN broker 2: slow error="too late"',
  );
  expect(line('debug', 'detail')).toBeUndefined();
  expect(describeLogLine('not a log line')).toBeUndefined();
});

test('a decision of the controller reads as a sentence', () => {
  const decision = { who: 'orders-0', what: 'leader 2, ISR 2,3', why: 'leader 1 failed' };
  expect(line('info', 'controller decision', { ...decision, controllerEpoch: 4 })).toBe(
    'broker 2: as controller: orders-0: leader 2, ISR 2,3 (leader 1 failed)',
  );
});

test('a very long line is cut', () => {
  expect(line('info', 'm'.repeat(1000))).toHaveLength(243);
});

test('an unexpected end says how, and why if the process said so', () => {
  expect(describeDeath('broker 1', { code: null, signal: 'SIGKILL' }, undefined)).toBe(
    'broker 1 was ended by SIGKILL',
  );
  expect(describeDeath('broker 1', { code: 4, signal: null }, 'port in use. code=X')).toBe(
    'broker 1 ended with exit code 4: port in use. code=X',
  );
});
