/**
 * Writes every partition's HW to disk now and then, so that a restarted broker starts from a known one.
 * Invariant: one write at a time, which tells what is so after it was asked for; a write that fails is tried again at the next turn. Called by ReplicaManager.
 */
import { SharedRun, type Clock, type Logger, type Timer } from '@tributary/common';
import type { LogStore } from '@tributary/log';
import type { Partition } from '../partition/partition';

export interface HighWatermarkCheckpointOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logStore: LogStore;
  readonly intervalMs: number;
  readonly partitions: () => Iterable<Partition>;
}

export class HighWatermarkCheckpoint {
  private timer: Timer | undefined;
  private readonly writes = new SharedRun(() => this.writeNow());
  private failed = false;

  constructor(private readonly options: HighWatermarkCheckpointOptions) {}

  start(): void {
    const { clock, intervalMs } = this.options;
    this.timer = clock.setTimer(intervalMs, () => {
      void this.write().then(() => {
        if (this.timer) this.start();
      });
    });
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Never rejects. All who ask while one is under way share the next one. */
  write(): Promise<void> {
    return this.writes.run();
  }

  private async writeNow(): Promise<void> {
    const { logStore, logger, partitions } = this.options;
    const entries = [...partitions()]
      .filter(({ state }) => !(state.role === 'offline' && state.failed))
      .map(({ topic, topicId, partition, state }) => ({
        topic,
        topicId,
        partition,
        offset: state.highWatermark,
      }));
    try {
      await logStore.checkpointHighWatermarks(entries);
      this.failed = false;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.failed) logger.error('high watermarks cannot be written', { reason });
      this.failed = true;
    }
  }
}
