import { checkHistory, isClean } from './check-history';
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

  test('C2: two readers that got different records at one offset disagree, whatever the final log says', () => {
    const history = new History();
    history.liveReads.push({ partition: 0, offset: 0, id: 1 }, { partition: 0, offset: 0, id: 2 });
    finalLog(history, 0, [2]);
    expect(checkHistory(history)).toMatchObject({ disagreeing: 1, readAboveHighWatermark: 1 });
  });

  test('C5: within an assignment no record is left out or comes again; a new assignment may go back', () => {
    const history = new History();
    const read = (reader: string, offset: number): void => {
      history.liveReads.push({ partition: 0, offset, id: offset, reader });
    };
    [0, 1, 3, 2].forEach((offset) => read('member 1, assignment 1', offset));
    [1, 2, 3].forEach((offset) => read('member 1, assignment 2', offset));
    finalLog(history, 0, [0, 1, 2, 3]);
    expect(checkHistory(history)).toMatchObject({ skipped: 2, duplicated: 0 });
  });

  test('C7: the end that clients are told never falls; answers that crossed prove nothing', () => {
    const history = new History();
    const probe = (askedAt: number, answeredAt: number, end: number): void => {
      history.endProbes.push({ partition: 0, askedAt, answeredAt, end });
    };
    probe(0, 10, 5);
    probe(5, 20, 4); // asked before the first was answered
    expect(checkHistory(history).fallenEnds).toBe(0);
    probe(30, 40, 4);
    expect(checkHistory(history).fallenEnds).toBe(1);
  });

  test('C8: the end lies above what was consumed or acknowledged before the question', () => {
    const history = new History();
    history.liveReads.push({ partition: 0, offset: 7, id: 8, at: 10 });
    acknowledge(history, { partition: 1, id: 1, offset: 3 }, { sentAt: 0, at: 10 });
    history.endProbes.push({ partition: 0, askedAt: 20, answeredAt: 21, end: 7 });
    history.endProbes.push({ partition: 1, askedAt: 20, answeredAt: 21, end: 3 });
    history.endProbes.push({ partition: 1, askedAt: 9, answeredAt: 21, end: 3 });
    const { fallenEnds, examples } = checkHistory(history);
    expect(fallenEnds).toBe(2);
    expect(examples).toContain('the end of partition 0 was said to be 7 after @7 had been read');
  });
});
