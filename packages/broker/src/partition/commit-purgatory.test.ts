import { SimulatedClock } from '@tributary/testkit';
import { CommitPurgatory, WaiterBudget } from './commit-purgatory';

function purgatory(): {
  clock: SimulatedClock;
  budget: WaiterBudget;
  waiters: CommitPurgatory;
  log: string[];
  wait: (name: string, offset: number, timeoutMs?: number) => void;
} {
  const clock = new SimulatedClock();
  const budget = new WaiterBudget(3);
  const waiters = new CommitPurgatory(clock, budget);
  const log: string[] = [];
  const wait = (name: string, offset: number, timeoutMs = 1_000): void =>
    waiters.wait(offset, timeoutMs, (end) => log.push(`${name} ${end} at ${clock.now()}`));
  return { clock, budget, waiters, log, wait };
}

describe('waiting for the HW', () => {
  it('wakes those at or below it, in order of offset', () => {
    const { waiters, log, wait } = purgatory();
    wait('b', 20);
    wait('c', 30);
    wait('a', 10);
    waiters.reached(20);
    expect(log).toEqual(['a reached at 0', 'b reached at 0']);
    expect(waiters.waiting).toBe(1);
  });

  it('gives up at its own deadline, also when a later one came first', async () => {
    const { clock, log, wait } = purgatory();
    wait('slow', 10, 500);
    wait('fast', 20, 100);
    await clock.advance(1_000);
    expect(log).toEqual(['fast timeout at 100', 'slow timeout at 500']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends all when leadership ends, each once', async () => {
    const { clock, waiters, log, wait, budget } = purgatory();
    wait('a', 10);
    wait('b', 20);
    waiters.endAll('told to');
    waiters.reached(100);
    await clock.advance(5_000);
    expect(log).toEqual(['a leadership ended at 0', 'b leadership ended at 0']);
    expect(budget.waiting).toBe(0);
  });

  it('counts over all partitions of the broker', () => {
    const { budget, waiters, wait } = purgatory();
    for (const name of ['a', 'b', 'c']) wait(name, 5);
    expect(budget.full).toBe(true);
    waiters.reached(5);
    expect(budget.full).toBe(false);
  });
});
