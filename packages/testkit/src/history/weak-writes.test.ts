import { History } from './history';
import { checkWeakWrites } from './weak-writes';

test('C9: a write with acks=1 may go with its leader, and is never lost in health', () => {
  const history = new History();
  [0, 1, 2].forEach((id) => {
    history.write(0, id, id * 100).result = { fate: 'acknowledged', offset: id, at: id * 100 + 1 };
  });
  history.write(0, 3, 300).result = { fate: 'unknown', at: 400, code: 'TIMEOUT' };
  history.finalReads.push({ partition: 0, offset: 0, id: 0 }, { partition: 0, offset: 1, id: 9 });
  expect(checkWeakWrites(history, [{ partition: 0, at: 250 }], 0)).toMatchObject({
    ...{ acked: 3, lost: 2, lostInHealth: 0, examples: [] },
  });
  expect(
    checkWeakWrites(
      history,
      [
        { partition: 0, at: 150 }, // 50 ms before the last was sent
        { partition: 1, at: 250 },
      ],
      49,
    ),
  ).toEqual({
    ...{ acked: 3, lost: 1, lostInHealth: 1 },
    examples: ['lost without a change of leader: id 2 at 0@2, acks=1'],
  });
  const changed = [{ partition: 0, at: 150 }];
  expect(checkWeakWrites(history, changed, 50)).toMatchObject({ lost: 2, lostInHealth: 0 });
});
