import { TributaryError } from '@tributary/common';
import type {
  PartitionStateStore,
  PartitionStateWriteResult,
  Watch,
} from '@tributary/coordination';
import { settle } from '@tributary/testkit';
import type { KeyedWrite } from './controller-effect';
import { maxWritesPerBatch, StateWriter } from './state-writer';
import { storedState } from './controller-script.fixture';

const fence = { controllerEpoch: 7, epochVersion: 7 };

function write(partition: number): KeyedWrite {
  const state = storedState('orders', partition, { leader: 1, isr: [1] });
  return { topicId: 'orders-id', state, expectedPartitionEpoch: 0 };
}

/** Answers when the test says so. */
class HeldStore implements PartitionStateStore {
  readonly batches: number[] = [];
  release: () => void = () => undefined;
  failure: Error | undefined;

  read(): Promise<never[]> {
    return Promise.resolve([]);
  }

  watch(): Watch {
    throw new Error('nobody watches here');
  }

  async write(_: unknown, writes: readonly KeyedWrite[]): Promise<PartitionStateWriteResult[]> {
    this.batches.push(writes.length);
    await new Promise<void>((resolve) => (this.release = resolve));
    if (this.failure) throw this.failure;
    return writes.map(({ state }) => ({ ok: true, state: { ...state, partitionEpoch: 1 } }));
  }
}

describe('StateWriter', () => {
  it('what comes while a batch is on its way goes with the next one', async () => {
    const store = new HeldStore();
    const written: number[] = [];
    const writer = new StateWriter(store, fence, {
      written: (outcomes) => written.push(...outcomes.map(({ partition }) => partition)),
      failed: () => undefined,
    });
    writer.write([write(0)]);
    writer.write([write(1)]);
    writer.write([write(2), write(3)]);
    expect(store.batches).toEqual([1]);
    store.release();
    await settle();
    expect(store.batches).toEqual([1, 3]);
    store.release();
    await settle();
    expect(written).toEqual([0, 1, 2, 3]);
  });

  it('a batch is bounded', async () => {
    const store = new HeldStore();
    const writer = new StateWriter(store, fence, {
      written: () => undefined,
      failed: () => undefined,
    });
    writer.write(Array.from({ length: maxWritesPerBatch + 1 }, (_, partition) => write(partition)));
    store.release();
    await settle();
    expect(store.batches).toEqual([maxWritesPerBatch, 1]);
  });

  it('a failure is reported; after close nothing is', async () => {
    const store = new HeldStore();
    const failed: string[] = [];
    const writer = new StateWriter(store, fence, {
      written: () => failed.push('written'),
      failed: ({ code }) => failed.push(code),
    });
    store.failure = new TributaryError('STALE_CONTROLLER_EPOCH', 'newer');
    writer.write([write(0)]);
    store.release();
    await settle();
    expect(failed).toEqual(['STALE_CONTROLLER_EPOCH']);
    writer.write([write(1)]);
    writer.close();
    store.release();
    await settle();
    expect(failed).toEqual(['STALE_CONTROLLER_EPOCH']);
  });
});
