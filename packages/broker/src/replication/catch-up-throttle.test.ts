import { SimulatedClock } from '@tributary/testkit';
import { CatchUpThrottle } from './catch-up-throttle';

/** A stream with so many pushes of 1,000 bytes to make, each when it has its turn. */
function stream(throttle: CatchUpThrottle, pushes: number): { readonly sent: number } {
  const counter = { sent: 0 };
  const ask = (): void =>
    throttle.wait(() => {
      counter.sent += 1_000;
      if (counter.sent < pushes * 1_000) ask();
      return 1_000;
    });
  ask();
  return counter;
}

describe('the throttle of catch-up streams', () => {
  it('lets no more go than the rate, over all streams, and shares it evenly', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 10_000);
    const one = stream(throttle, 1_000);
    const other = stream(throttle, 1_000);
    await clock.advance(10_000);
    expect(one.sent + other.sent).toBeGreaterThan(98_000);
    expect(one.sent + other.sent).toBeLessThanOrEqual(102_000);
    expect(Math.abs(one.sent - other.sent)).toBeLessThanOrEqual(1_000);
    throttle.close();
  });

  it('what was not used for long is not made up for', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 10_000);
    await clock.advance(60_000);
    const late = stream(throttle, 1_000);
    await clock.advance(1_000);
    expect(late.sent).toBeLessThanOrEqual(12_000);
    throttle.close();
  });

  it('a higher rate helps at once those who wait at a low one; a lower one slows them', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 10);
    const slow = stream(throttle, 1_000);
    await clock.advance(10_000);
    expect(slow.sent).toBeLessThanOrEqual(2_000);
    throttle.setRate(100_000);
    await clock.advance(1_000);
    expect(slow.sent).toBeGreaterThan(90_000);
    throttle.setRate(1_000);
    const before = slow.sent;
    await clock.advance(10_000);
    expect(slow.sent - before).toBeLessThanOrEqual(13_000);
    throttle.close();
  });

  it('without a rate: one push in each turn of the event loop', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, undefined);
    const free = stream(throttle, 50);
    expect(free.sent).toBe(0);
    await clock.advance(100);
    expect(free.sent).toBe(50_000);
  });

  it('a stream that has nothing to push leaves its turn to the next', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 1_000);
    throttle.wait(() => 0);
    const other = stream(throttle, 1);
    await clock.advance(1);
    expect(other.sent).toBe(1_000);
    throttle.close();
  });

  it('leaves no timer behind', () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 1);
    stream(throttle, 5);
    throttle.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
