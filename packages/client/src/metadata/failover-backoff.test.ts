import type { Random } from '@tributary/common';
import { FAILOVER_WAIT_MAX_MS, FAILOVER_WAITS, failoverBackoffMs } from './failover-backoff';

const longest: Random = { next: () => 1, bytes: (length) => Buffer.alloc(length) };
const waits = (code?: 'UNAVAILABLE' | 'OVERLOADED'): number[] =>
  Array.from({ length: 30 }, (_, attempt) =>
    failoverBackoffMs(attempt, longest, { maxMs: 500, code }),
  );

describe('waits for a leader', () => {
  it('stay short through a failover, and get long in an outage that lasts', () => {
    for (const told of [waits(), waits('UNAVAILABLE')]) {
      expect(told.slice(0, 3)).toEqual([50, 100, 100]);
      expect(Math.max(...told.slice(0, FAILOVER_WAITS))).toBe(FAILOVER_WAIT_MAX_MS);
      expect(told.slice(FAILOVER_WAITS, FAILOVER_WAITS + 4)).toEqual([100, 200, 400, 500]);
      expect(Math.max(...told)).toBe(500);
    }
  });

  it('a broker that has too much to do is left alone for longer each time', () => {
    expect(waits('OVERLOADED').slice(0, 6)).toEqual([50, 100, 200, 400, 500, 500]);
  });
});
