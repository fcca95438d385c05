/** How a client learns who leads next: one look for all partitions that lost their leader, which ends when there is news. */
import { sharedAbort, sleep, TributaryError } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import type { AwaitedLeader } from '../seams';
import { LeaderWatch, MAX_LEADER_LOOK_MS } from './leader-watch';

interface Look {
  readonly at: number;
  readonly awaited: string[];
  readonly maxWaitMs: number;
}

/** A source that waits as a broker does, unless `waits` is false. */
function world() {
  const clock = new SimulatedClock();
  const closing = sharedAbort();
  const looks: Look[] = [];
  /** partition@epoch of leaders that are there. */
  const epochs = new Map<number, number>();
  const source = { waits: true, failure: undefined as TributaryError | undefined, roundTripMs: 0 };
  const found = ({ partition, leaderEpoch }: AwaitedLeader): boolean =>
    (epochs.get(partition) ?? -1) > leaderEpoch;
  const watch = new LeaderWatch({
    clock,
    closing: closing.signal,
    found,
    look: async (awaited, maxWaitMs, signal) => {
      const names = awaited.map(({ partition, leaderEpoch }) => `${partition}@${leaderEpoch}`);
      looks.push({ at: clock.now(), awaited: names, maxWaitMs });
      if (source.roundTripMs > 0) await sleep(clock, source.roundTripMs, signal);
      const until = clock.now() + maxWaitMs;
      while (source.waits && !source.failure && clock.now() < until && !awaited.some(found)) {
        await sleep(clock, 1, signal);
      }
      if (source.failure) throw source.failure;
    },
  });
  const want = (partition: number, leaderEpoch = 0): void =>
    watch.want({ topic: 'orders', partition, leaderEpoch });
  const heard: string[] = [];
  const listen = (partition: number, leaderEpoch = 0): (() => void) =>
    watch.onLeader({ topic: 'orders', partition, leaderEpoch }, () => {
      heard.push(`${partition} after ${clock.now()} ms`);
    });
  return { clock, closing, looks, epochs, source, watch, want, heard, listen };
}

describe('looking out for leaders', () => {
  test('what fails at once shares one look, and the look ends when one of them has a leader', async () => {
    const { clock, looks, epochs, watch, want } = world();
    for (const partition of [1, 2, 3]) want(partition);
    await clock.advance(20);
    expect(looks.map(({ awaited }) => awaited)).toEqual([['1@0', '2@0', '3@0']]);
    const look = watch.nextLook();
    for (const partition of [1, 2, 3]) epochs.set(partition, 1);
    await clock.advance(200);
    await look;
    expect(looks).toHaveLength(1);
  });

  test('nothing runs while nothing is wanted; a partition that nobody asks for again is forgotten', async () => {
    const { clock, looks, want } = world();
    await clock.advance(10_000);
    expect(looks).toEqual([]);
    want(1);
    await clock.advance(10_000);
    const last = looks.at(-1)!.at;
    expect(last).toBeGreaterThan(11_000);
    expect(last).toBeLessThan(12_000);
  });

  test('a partition that fails during a look is in the next one, which begins at once', async () => {
    const { clock, looks, want } = world();
    want(1);
    await clock.advance(10);
    want(2);
    await clock.advance(10);
    expect(looks.map(({ awaited }) => awaited)).toEqual([['1@0'], ['1@0', '2@0']]);
    expect(looks[1]!.at).toBeLessThan(20);
  });

  test('partitions that fail one after another keep no look from its end', async () => {
    const { clock, looks, epochs, source, watch, want } = world();
    source.roundTripMs = 20;
    epochs.set(0, 1);
    want(0, 1);
    let done = 0;
    const lookAgain = (): void =>
      void watch.nextLook().then(() => {
        done += 1;
        lookAgain();
      });
    lookAgain();
    for (let partition = 1; partition <= 300; partition += 1) {
      want(partition);
      epochs.set(partition, 1);
      await clock.advance(3);
    }
    // In nine tenths of a second.
    expect(done).toBeGreaterThanOrEqual(5);
    expect(looks.length).toBeLessThan(60);
  });

  test('looks get longer in an outage that lasts, up to a limit, and come one after another', async () => {
    const { clock, looks, want } = world();
    for (let time = 0; time < 10; time += 1) {
      want(1);
      await clock.advance(1_000);
    }
    const waits = looks.map(({ maxWaitMs }) => maxWaitMs);
    expect(waits.slice(0, 3)).toEqual([50, 100, 100]);
    expect(Math.max(...waits)).toBe(MAX_LEADER_LOOK_MS);
    for (const [index, look] of looks.slice(1).entries()) {
      expect(look.at - looks[index]!.at).toBeGreaterThanOrEqual(looks[index]!.maxWaitMs);
    }
  });

  test.each(['answers at once', 'fails at once'])(
    'a source that %s is not asked without a pause',
    async (how) => {
      const { clock, looks, source, want } = world();
      if (how === 'fails at once') source.failure = new TributaryError('UNAVAILABLE', 'gone');
      else source.waits = false;
      want(1);
      await clock.advance(1_000);
      expect(looks.length).toBeLessThan(15);
    },
  );

  test('who awaits a look hears why it failed', async () => {
    const { clock, source, watch, want } = world();
    source.failure = new TributaryError('UNAVAILABLE', 'no broker answers');
    want(1);
    const look = expect(watch.nextLook()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await clock.advance(100);
    await look;
  });

  test('the end of the client ends it, and who awaits a look', async () => {
    const { clock, closing, looks, watch, want } = world();
    want(1);
    await clock.advance(10);
    const look = watch.nextLook();
    closing.abort();
    await clock.advance(10);
    await look;
    want(2);
    await clock.advance(5_000);
    expect(looks).toHaveLength(1);
  });
});

describe('who waits for a leader', () => {
  test('is called once, by whatever brought the news', async () => {
    const { clock, epochs, watch, heard, listen } = world();
    listen(1);
    listen(2);
    await clock.advance(30);
    watch.tell();
    expect(heard).toEqual([]);
    epochs.set(1, 1);
    watch.tell();
    watch.tell();
    expect(heard).toEqual(['1 after 30 ms']);
  });

  test('not after it called that off', () => {
    const { epochs, watch, heard, listen } = world();
    const forget = listen(1);
    forget();
    epochs.set(1, 1);
    watch.tell();
    expect(heard).toEqual([]);
  });
});
