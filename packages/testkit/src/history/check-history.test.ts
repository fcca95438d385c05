import { checkHistory, isClean, longestGapMs } from './check-history';
import { History, type ReadRecord } from './history';

interface Times {
  readonly sentAt: number;
  readonly at: number;
}

function acknowledge(
  history: History,
  { partition, id, offset }: ReadRecord,
  times: Times = { sentAt: id, at: id + 1 },
): void {
  const { sentAt, at } = times;
  history.write(partition, id, sentAt).result = { fate: 'acknowledged', offset, at };
}

function finalLog(history: History, partition: number, ids: readonly number[]): void {
  ids.forEach((id, offset) => history.finalReads.push({ partition, offset, id }));
}

describe('checkHistory', () => {
  test('what was acknowledged and lies in order is clean; unknown writes may be there or not', () => {
    const history = new History();
    acknowledge(history, { partition: 0, id: 1, offset: 0 });
    acknowledge(history, { partition: 0, id: 2, offset: 1 });
    history.write(0, 3, 3).result = { fate: 'unknown', at: 9, code: 'TIMEOUT' };
    history.write(0, 4, 4).result = { fate: 'unknown', at: 9, code: 'TIMEOUT' };
    finalLog(history, 0, [1, 2, 4]);
    const verdict = checkHistory(history);
    expect(isClean(verdict)).toBe(true);
    expect(verdict).toMatchObject({ acked: 2, read: 3, unknown: 2 });
  });

  test('C1: an acknowledged write that is gone, or at another offset, is lost', () => {
    const history = new History();
    acknowledge(history, { partition: 0, id: 1, offset: 0 });
    acknowledge(history, { partition: 0, id: 2, offset: 1 });
    finalLog(history, 0, [2]);
    expect(checkHistory(history).lost).toBe(2);
  });

  test('C4: one id twice is a duplicate; falling ids are a reordering', () => {
    const history = new History();
    finalLog(history, 0, [1, 2, 2, 4, 3]);
    expect(checkHistory(history)).toMatchObject({ duplicated: 1, reordered: 1 });
  });

  test('C6: what was refused for sure must not appear', () => {
    const history = new History();
    history.write(0, 1, 1).result = { fate: 'not written', at: 2, code: 'NOT_ENOUGH_REPLICAS' };
    finalLog(history, 0, [1]);
    expect(checkHistory(history).resurrected).toBe(1);
  });

  test('C7: a live read that the final log contradicts was above the high watermark', () => {
    const history = new History();
    history.liveReads.push({ partition: 0, offset: 0, id: 1 }, { partition: 0, offset: 1, id: 9 });
    finalLog(history, 0, [1, 2]);
    expect(checkHistory(history).readAboveHighWatermark).toBe(1);
  });

  test('C3: an offset at or below one acknowledged before the send began is not monotonic', () => {
    const history = new History();
    acknowledge(history, { partition: 0, id: 1, offset: 5 }, { sentAt: 0, at: 10 });
    acknowledge(history, { partition: 0, id: 2, offset: 3 }, { sentAt: 20, at: 30 });
    acknowledge(history, { partition: 0, id: 3, offset: 4 }, { sentAt: 5, at: 40 }); // sent before the first was acknowledged: fine
    expect(checkHistory(history).nonMonotonic).toBe(1);
  });
});

test('longestGapMs is per partition', () => {
  const history = new History();
  acknowledge(history, { partition: 0, id: 1, offset: 0 }, { sentAt: 0, at: 100 });
  acknowledge(history, { partition: 1, id: 2, offset: 0 }, { sentAt: 0, at: 150 });
  acknowledge(history, { partition: 0, id: 3, offset: 1 }, { sentAt: 0, at: 400 });
  acknowledge(history, { partition: 1, id: 4, offset: 1 }, { sentAt: 0, at: 200 });
  expect(longestGapMs(history)).toBe(300);
});
