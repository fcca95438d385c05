import { ProcessClock } from './process-clock';
import { SimulatedClock } from './simulated-clock';

function world() {
  const clock = new SimulatedClock();
  const process = new ProcessClock(clock);
  const fired: string[] = [];
  const at = (delayMs: number, name: string) =>
    process.setTimer(delayMs, () => fired.push(`${name} at ${clock.now()}`));
  return { clock, process, fired, at };
}

test('a stopped process fires nothing; what was due meanwhile comes at once, in order', async () => {
  const { clock, process, fired, at } = world();
  at(10, 'a');
  at(30, 'b');
  at(200, 'c');
  process.pause();
  await clock.advance(100);
  expect(fired).toEqual([]);
  process.resume();
  await clock.advance(0);
  expect(fired).toEqual(['a at 100', 'b at 100']);
  await clock.advance(100);
  expect(fired.at(-1)).toBe('c at 200');
});

test('a timer that became due while stopped may still be cancelled', async () => {
  const { clock, process, fired, at } = world();
  const timer = at(10, 'a');
  process.pause();
  await clock.advance(20);
  timer.cancel();
  process.resume();
  await clock.advance(20);
  expect(fired).toEqual([]);
});

test('a process that dies while stopped fires nothing any more', async () => {
  const { clock, process, fired, at } = world();
  at(10, 'a');
  process.pause();
  await clock.advance(20);
  process.die();
  process.resume();
  at(1, 'b');
  await clock.advance(50);
  expect(fired).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test('the wall clock of one machine jumps, that of the world does not', () => {
  const { clock, process } = world();
  process.jumpWallTime(-5_000);
  expect(process.wallTime()).toBe(clock.wallTime() - 5_000);
  expect(process.now()).toBe(clock.now());
});
