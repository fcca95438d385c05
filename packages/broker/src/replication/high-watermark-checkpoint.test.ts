import { silentLogger } from '@tributary/common';
import { MemoryLogStore, SimulatedClock } from '@tributary/testkit';
import { HighWatermarkCheckpoint } from './high-watermark-checkpoint';

/** Its writes end when they are told to. */
class HeldStore extends MemoryLogStore {
  readonly held: { readonly end: () => void; readonly fail: () => void }[] = [];

  override async checkpointHighWatermarks(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.held.push({ end: resolve, fail: () => reject(new Error('no room')) });
    });
  }
}

function world() {
  const logStore = new HeldStore();
  const state = { looks: 0 };
  const checkpoint = new HighWatermarkCheckpoint({
    ...{ clock: new SimulatedClock(), logger: silentLogger, logStore, intervalMs: 5_000 },
    partitions: () => {
      state.looks += 1;
      return [];
    },
  });
  return { checkpoint, held: logStore.held, state };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('who asks while one is written shares the next one, which looks anew', async () => {
  const { checkpoint, held, state } = world();
  const done: string[] = [];
  void checkpoint.write().then(() => done.push('a'));
  await settle();
  for (const name of ['b', 'c', 'd']) void checkpoint.write().then(() => done.push(name));
  await settle();
  expect([held.length, state.looks]).toEqual([1, 1]);
  held[0]!.end();
  await settle();
  // What was so after the first one looked is told by the second one.
  expect([done, held.length, state.looks]).toEqual([['a'], 2, 2]);
  held[1]!.end();
  await settle();
  expect([done, held.length]).toEqual([['a', 'b', 'c', 'd'], 2]);
});

test('one that fails holds up nobody', async () => {
  const { checkpoint, held } = world();
  const first = checkpoint.write();
  await settle();
  const second = checkpoint.write();
  held[0]!.fail();
  await first;
  await settle();
  held[1]!.end();
  await second;
  expect(held).toHaveLength(2);
});
