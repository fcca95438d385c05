import { TributaryError } from '@tributary/common';
import { movesOfPlan, rotatedMoves } from './move-plan';

test('one list of brokers for all partitions: each begins with another one', () => {
  expect(rotatedMoves('t', 4, [1, 2, 3]).map(({ replicas }) => replicas)).toEqual([
    [1, 2, 3],
    [2, 3, 1],
    [3, 1, 2],
    [1, 2, 3],
  ]);
});

test("a plan of Kafka's tool is read as it is", () => {
  const text = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,1],"log_dirs":["any","any"]}]}'; // prettier-ignore
  expect(movesOfPlan(text, 'plan.json')).toEqual([{ topic: 't', partition: 0, replicas: [3, 1] }]);
});

test.each([
  ['no json', 'it is no JSON'],
  ['{}', 'no list "partitions"'],
  ['null', 'no list "partitions"'],
  ['{"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t"}]}', 'entry 2'],
  ['{"partitions":[{"topic":"t","partition":0,"replicas":["1"]}]}', 'entry 1'],
  ['{"partitions":[{"topic":"t","partition":-1,"replicas":[1]}]}', 'entry 1'],
])('a plan that is none is refused: %s', (text, why) => {
  const read = (): unknown => movesOfPlan(text, 'plan.json');
  expect(read).toThrow(why);
  expect(() => movesOfPlan(text, 'plan.json')).toThrow(TributaryError);
});
