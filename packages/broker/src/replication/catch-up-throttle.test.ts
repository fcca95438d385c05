import type { Timer } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import { CatchUpThrottle } from './catch-up-throttle';

const KIB = 1024;
const MIB = 1024 * KIB;

/** A stream with so many pushes to make, each when it has its turn. */
function stream(
  throttle: CatchUpThrottle,
  pushes: number,
  bytes = 1_000,
): { readonly sent: number } {
  const counter = { sent: 0 };
  const ask = (): void =>
    throttle.wait(() => {
      counter.sent += bytes;
      if (counter.sent < pushes * bytes) ask();
      return bytes;
    });
  ask();
  return counter;
}

/** Its timers come late, as in a process that has much else to do. */
class LateClock extends SimulatedClock {
  constructor(private readonly lateMs: number) {
    super();
  }

  override setTimer(delayMs: number, run: () => void): Timer {
    return super.setTimer(delayMs + this.lateMs, run);
  }
}

describe('the throttle of catch-up streams', () => {
  it('lets no more go than the rate, over all streams, and shares it evenly', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 10_000, false);
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
    const throttle = new CatchUpThrottle(clock, 10_000, false);
    await clock.advance(60_000);
    const late = stream(throttle, 1_000);
    await clock.advance(1_000);
    expect(late.sent).toBeLessThanOrEqual(12_000);
    throttle.close();
  });

  it('a higher rate helps at once those who wait at a low one; a lower one slows them', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 10, false);
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
    const throttle = new CatchUpThrottle(clock, undefined, false);
    const free = stream(throttle, 50);
    expect(free.sent).toBe(0);
    await clock.advance(100);
    expect(free.sent).toBe(50_000);
  });

  it('a stream that has nothing to push leaves its turn to the next', async () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 1_000, false);
    throttle.wait(() => 0);
    const other = stream(throttle, 1);
    await clock.advance(1);
    expect(other.sent).toBe(1_000);
    throttle.close();
  });

  describe('where nobody chose a rate, on the leader', () => {
    /** Bytes per second over ten seconds; each turn of the event loop lasts so long, because of other work. */
    async function rateOf(busyMs: number, writtenPerSecond = 0): Promise<number> {
      const clock = new LateClock(busyMs);
      const throttle = new CatchUpThrottle(clock, undefined, true);
      throttle.noteWrites(throttle, writtenPerSecond);
      const one = stream(throttle, Infinity, 128 * KIB);
      await clock.advance(10_000);
      throttle.close();
      return one.sent / 10;
    }

    it('it is moderate', async () => {
      expect(await rateOf(0)).toBeGreaterThan(31 * MIB);
      expect(await rateOf(0)).toBeLessThan(33 * MIB);
    });

    it('it gives way where the event loop is busy, but not below its floor', async () => {
      expect(await rateOf(8)).toBeLessThan(16 * MIB);
      expect(await rateOf(8)).toBeGreaterThan(4 * MIB);
    });

    it('it is no less than twice what is written meanwhile: a partition comes closer, however busy the broker is', async () => {
      expect(await rateOf(0, 40 * MIB)).toBeGreaterThan(78 * MIB);
      expect(await rateOf(3, 12 * MIB)).toBeGreaterThan(22 * MIB);
    });
  });

  it('leaves no timer behind', () => {
    const clock = new SimulatedClock();
    const throttle = new CatchUpThrottle(clock, 1, false);
    stream(throttle, 5);
    throttle.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
