import { TributaryError } from '@tributary/common';
import type { Decision } from '@tributary/client';
import { newDecisions, remembered } from './cluster-journal';

const decided = (brokerId: number, at: number): Decision => ({
  ...{ brokerId, at, controllerEpoch: 1, who: 'orders-0', what: 'leader 2', why: 'broker 1 is away' }, // prettier-ignore
});

describe('what --follow tells', () => {
  test('is what is new; the same decision twice is told twice', () => {
    const before = [decided(1, 5), decided(1, 6)];
    const now = [decided(1, 6), decided(1, 6), decided(2, 6)];
    expect(newDecisions(before, now)).toEqual([decided(1, 6), decided(2, 6)]);
  });

  test('a broker that was silent for a while does not repeat itself', () => {
    const error = new TributaryError('UNAVAILABLE', 'gone');
    const before = { decisions: [decided(1, 5), decided(2, 5)], unanswered: [] };
    const silent = { decisions: [decided(2, 5)], unanswered: [{ brokerId: 1, error }] };
    const kept = remembered(before, silent);
    expect(newDecisions(kept.decisions, [decided(1, 5), decided(1, 7), decided(2, 5)])).toEqual([
      decided(1, 7),
    ]);
  });
});
