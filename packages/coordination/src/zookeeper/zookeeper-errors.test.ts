import { multiRefusal, outward, notSent } from './library-replies';
import { fromZooKeeper } from './zookeeper-errors';

test.each([
  [-101, 'NO_NODE', 'not written'],
  [-103, 'BAD_VERSION', 'not written'],
  [-110, 'NODE_EXISTS', 'not written'],
  [-111, 'NOT_EMPTY', 'not written'],
  [-112, 'SESSION_EXPIRED', 'maybe written'],
  [-4, 'COORDINATOR_UNAVAILABLE', 'maybe written'],
  [-118, 'COORDINATOR_UNAVAILABLE', 'not written'],
  [-127, 'COORDINATOR_UNAVAILABLE', 'not written'],
  [-102, 'INTERNAL', 'not written'],
  [-999, 'INTERNAL', 'not written'],
])('code %d is %s, %s', (code, name, outcome) => {
  expect(fromZooKeeper(code, '/p', true)).toMatchObject({ code: name, outcome });
});

test('a request that never left is not written', () => {
  expect(outward(notSent(), '/p')).toMatchObject({
    code: 'COORDINATOR_UNAVAILABLE',
    outcome: 'not written',
  });
});

test('the culprit of a multi is the first part with an error of its own', () => {
  const operations = ['/a', '/b', '/c'].map(
    (path) => ({ type: 'check', path, version: 0 }) as const,
  );
  const parts = [0, -103, -2].map((err) => ({ type: -1, err }));
  expect(multiRefusal(new Error('any'), operations, parts)).toMatchObject({
    code: 'BAD_VERSION',
    details: { path: '/b', index: 1 },
  });
  const whole = new Error('the whole request');
  expect(multiRefusal(whole, operations, undefined)).toBe(whole);
});
