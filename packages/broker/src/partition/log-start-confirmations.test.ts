import { SimulatedClock } from '@tributary/testkit';
import { LogStartConfirmations, MAX_LOG_START_WAITERS } from './log-start-confirmations';

const clock = new SimulatedClock();
const timeout = { clock, ms: 1_000 };

test('as many deletions as the limit wait, the next one is refused', async () => {
  const confirmations = new LogStartConfirmations();
  const wait = (): Promise<void> => confirmations.reached(5, () => [2], timeout);
  const waiting = Array.from({ length: MAX_LOG_START_WAITERS }, wait);
  expect(wait).toThrow('wait already');
  confirmations.confirmed(2, 5);
  await Promise.all(waiting);
  expect(clock.pendingTimers).toBe(0);
});

test('who is not awaited any more keeps nobody waiting', async () => {
  const confirmations = new LogStartConfirmations();
  let awaited = [2, 3];
  const waiting = confirmations.reached(5, () => awaited, timeout);
  confirmations.confirmed(2, 7);
  awaited = [2];
  confirmations.check();
  await waiting;
});
