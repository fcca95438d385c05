import { SimulatedClock } from '@tributary/testkit';
import { CHECKPOINT_INTERVAL_MS, CheckpointSchedule } from './checkpoint-schedule';

function schedule(): {
  clock: SimulatedClock;
  written: number[];
  failures: unknown[];
  failNext: (error: Error) => void;
  checkpoints: CheckpointSchedule;
} {
  const clock = new SimulatedClock();
  const written: number[] = [];
  const failures: unknown[] = [];
  let failure: Error | undefined;
  const write = async (): Promise<void> => {
    written.push(clock.now());
    const error = failure;
    failure = undefined;
    if (error) throw error;
  };
  const onFailure = (error: unknown): void => void failures.push(error);
  const checkpoints = new CheckpointSchedule({ clock, write, onFailure });
  return { clock, written, failures, failNext: (error) => (failure = error), checkpoints };
}

it('writes at once after a quiet time, then once an interval, however often something moves', async () => {
  const { clock, written, checkpoints } = schedule();
  for (let ms = 0; ms < 3 * CHECKPOINT_INTERVAL_MS; ms += 1) {
    for (let moves = 0; moves < 5; moves += 1) checkpoints.soon();
    await clock.advance(1);
  }
  expect(written).toEqual([0, 1, 2, 3].map((count) => count * CHECKPOINT_INTERVAL_MS));
  await clock.advance(10 * CHECKPOINT_INTERVAL_MS);
  expect(written).toHaveLength(4);
});

it('who must have it on the device does not wait for the interval, and hears of a failure', async () => {
  const { clock, written, failures, failNext, checkpoints } = schedule();
  checkpoints.soon();
  await clock.advance(1);
  await checkpoints.now();
  expect(written).toEqual([0, 1]);
  failNext(new Error('no room'));
  await expect(checkpoints.now()).rejects.toThrow('no room');
  expect(failures).toEqual([]);
});

it('a failure that nobody waits for is told, and the next move writes again', async () => {
  const { clock, written, failures, failNext, checkpoints } = schedule();
  failNext(new Error('no room'));
  checkpoints.soon();
  await clock.advance(0);
  expect(failures).toHaveLength(1);
  checkpoints.soon();
  await clock.advance(CHECKPOINT_INTERVAL_MS);
  expect(written).toHaveLength(2);
});

it('writes nothing more once it is closed', async () => {
  const { clock, written, checkpoints } = schedule();
  checkpoints.soon();
  checkpoints.soon();
  await clock.advance(1);
  checkpoints.soon();
  await checkpoints.close();
  checkpoints.soon();
  await clock.advance(CHECKPOINT_INTERVAL_MS * 2);
  expect(written).toEqual([0]);
  expect(clock.pendingTimers).toBe(0);
});
