import { leadershipLost, notCommitted, shortOfReplicas } from './commit-errors';
import { leader, offline } from './partition-script.fixture';

it('every one of them leaves open whether the record will be committed', () => {
  const short = { ...leader, isr: [1] };
  const errors = [
    shortOfReplicas('t-0', short),
    notCommitted('t-0', short, { offset: 5, timeoutMs: 100 }),
    notCommitted('t-0', leader, { offset: 5, timeoutMs: 100 }),
    leadershipLost('t-0', 'a new epoch'),
  ];
  expect(errors.map((error) => [error?.code, error?.outcome])).toEqual([
    ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'maybe written'],
    ['TIMEOUT', 'maybe written'],
    ['TIMEOUT', 'maybe written'],
    ['NOT_LEADER', 'maybe written'],
  ]);
});

it('counts a pending member of the ISR, and says nothing when there are enough', () => {
  const pending = { requestId: 1, isr: [1, 2], members: [], retryAt: undefined };
  expect(shortOfReplicas('t-0', { ...leader, isr: [1], pending })).toBeUndefined();
  expect(shortOfReplicas('t-0', offline)).toBeUndefined();
});
