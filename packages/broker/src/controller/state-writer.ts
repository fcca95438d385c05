/**
 * Writes partition states one batch after another: what is decided while a batch is on its way goes with the
 * next one, so that a broker's death is a handful of multis and one delta. Bounded by the count of
 * partitions, as each has one write in flight. Called by the controller's driver.
 */
import { TributaryError } from '@tributary/common';
import type { ControllerFence, PartitionStateStore } from '@tributary/coordination';
import type { KeyedWrite } from './controller-effect';
import type { WriteOutcome } from './controller-event';

/** Bounds the delta that tells of them, at some 100 bytes each. */
export const maxWritesPerBatch = 5_000;

export interface StateWriterHost {
  written(outcomes: readonly WriteOutcome[]): void;
  /** Nothing is known about the batch. */
  failed(error: TributaryError): void;
}

export class StateWriter {
  private queue: KeyedWrite[] = [];
  private isWriting = false;
  private isClosed = false;

  constructor(
    private readonly store: PartitionStateStore,
    private readonly fence: ControllerFence,
    private readonly host: StateWriterHost,
  ) {}

  write(writes: readonly KeyedWrite[]): void {
    this.queue.push(...writes);
    if (!this.isWriting) void this.pump();
  }

  /** What is on its way may still arrive; nobody hears of it. */
  close(): void {
    this.isClosed = true;
    this.queue = [];
  }

  private async pump(): Promise<void> {
    this.isWriting = true;
    while (this.queue.length > 0 && !this.isClosed) {
      const batch = this.queue.splice(0, maxWritesPerBatch);
      try {
        const results = await this.store.write(this.fence, batch);
        if (this.isClosed) break;
        const outcomes = batch.flatMap(({ topicId, state }, index) => {
          const result = results[index];
          return result ? [{ topicId, partition: state.partition, result }] : [];
        });
        this.host.written(outcomes);
      } catch (thrown) {
        if (!this.isClosed) this.host.failed(TributaryError.from(thrown));
      }
    }
    this.isWriting = false;
  }
}
