import { History } from './history';
import { longestGapMs, longestWaits } from './unavailability';

function acknowledge(history: History, partition: number, sentAt: number, at: number): void {
  const id = history.writes.length;
  history.write(partition, id, sentAt).result = { fate: 'acknowledged', offset: id, at };
}

test('longestGapMs is per partition', () => {
  const history = new History();
  acknowledge(history, 0, 0, 100);
  acknowledge(history, 1, 0, 150);
  acknowledge(history, 0, 0, 400);
  acknowledge(history, 1, 0, 200);
  expect(longestGapMs(history)).toBe(300);
});

test('longestWaits takes the longest wait of each partition for whatever answer, once faults began', () => {
  const history = new History();
  acknowledge(history, 0, 0, 900); // before the first fault
  acknowledge(history, 0, 990, 1200);
  acknowledge(history, 0, 1300, 1310);
  acknowledge(history, 1, 1300, 1305);
  history.write(1, 9, 1000).result = { fate: 'unknown', at: 1700, code: 'TIMEOUT' };
  history.write(1, 10, 1000);
  expect(longestWaits(history, 1000)).toEqual([
    { partition: 1, sentAt: 1000, waitedMs: 700 },
    { partition: 0, sentAt: 990, waitedMs: 210 },
  ]);
});
