/**
 * The logs that lie in one log directory: those that serve, those that could not be loaded, and what the checkpoint
 * files said of them. Invariant: a name is either served or broken, never both. Owned by LogDirectory.
 */
import {
  parsePartitionName,
  partitionKey,
  partitionName,
  type TributaryError,
} from '@tributary/common';
import type { Log } from './log';
import type { StoredCheckpoints } from './log-checkpoints';
import type { BrokenLog, LoadedDirectory } from './log-directory-loader';
import type { HighWatermarkEntry, LostReplica, ReplicaId } from './log-store';

/** What the checkpoint files said of a log that could not be loaded. */
export interface StoredOffsets {
  /** It reached this far, for all that is known. */
  readonly endOffset: number;
  readonly logStartOffset: number | undefined;
  readonly highWatermark: number;
}

export class DirectoryLogs {
  /** Names of partitions that recovery cut below their checkpointed high watermark. */
  readonly cutBelowHighWatermark: string[] = [];
  private readonly byKey = new Map<string, Log>();
  private readonly broken = new Map<string, BrokenLog>();
  private readonly highWatermarks = new Map<string, number>();
  private readonly stored = new Map<string, StoredOffsets>();
  private readonly underRepair = new Set<string>();

  /** Once, with what lies there. */
  take(
    loaded: LoadedDirectory,
    stored: StoredCheckpoints,
    highWatermarks: ReadonlyMap<string, number>,
  ): void {
    for (const [name, broken] of loaded.broken) {
      this.broken.set(name, broken);
      const highWatermark = highWatermarks.get(name) ?? 0;
      const endOffset = Math.max(highWatermark, stored.recoveryPoints.get(name) ?? 0);
      const logStartOffset = stored.logStartOffsets.get(name);
      this.stored.set(name, { endOffset, logStartOffset, highWatermark });
    }
    for (const log of loaded.logs) {
      const name = partitionName(log.topic, log.partition);
      const highWatermark = highWatermarks.get(name) ?? 0;
      if (highWatermark > log.logEndOffset) this.cutBelowHighWatermark.push(name);
      this.add(log);
      this.highWatermarks.set(keyOf(log), Math.min(highWatermark, log.logEndOffset));
    }
  }

  all(): Log[] {
    return [...this.byKey.values()];
  }

  get(topicId: string, partition: number): Log | undefined {
    return this.byKey.get(partitionKey(topicId, partition));
  }

  get count(): number {
    return this.byKey.size;
  }

  get someAreBroken(): boolean {
    return this.broken.size > 0;
  }

  /** Names of the logs that cannot be used: nobody knows anything new of them. */
  mute(): ReadonlySet<string> {
    const failed = this.all().filter(({ failure }) => failure);
    const names = failed.map(({ topic, partition }) => partitionName(topic, partition));
    return new Set([...this.broken.keys(), ...this.underRepair, ...names]);
  }

  brokenOne(name: string): BrokenLog | undefined {
    return this.broken.get(name);
  }

  storedOffsets(name: string): StoredOffsets | undefined {
    return this.stored.get(name);
  }

  add(log: Log): void {
    this.byKey.set(keyOf(log), log);
    this.mended(partitionName(log.topic, log.partition));
  }

  remove(topicId: string, partition: number): void {
    const key = partitionKey(topicId, partition);
    this.byKey.delete(key);
    this.highWatermarks.delete(key);
  }

  /** Until it is opened again nothing new is known of it: what the checkpoint files say stays. */
  beginRepair({ topic, topicId, partition }: ReplicaId): void {
    this.remove(topicId, partition);
    this.underRepair.add(partitionName(topic, partition));
  }

  /** What could not be loaded is not there any more; another topic of its name may come. */
  mended(name: string): void {
    this.broken.delete(name);
    this.stored.delete(name);
    this.underRepair.delete(name);
  }

  lost(): LostReplica[] {
    return [...this.broken].flatMap(([name, { topicId, error }]) => {
      const parsed = parsePartitionName(name);
      const damaged = error.code === 'CORRUPT_LOG';
      return parsed ? [{ ...parsed, topicId, reason: error.message, damaged }] : [];
    });
  }

  highWatermark(topicId: string, partition: number): number {
    return this.highWatermarks.get(partitionKey(topicId, partition)) ?? 0;
  }

  noteHighWatermarks(entries: readonly HighWatermarkEntry[]): void {
    const byName = new Map(
      this.all().map((log) => [partitionName(log.topic, log.partition), keyOf(log)]),
    );
    for (const { topic, partition, offset } of entries) {
      const key = byName.get(partitionName(topic, partition));
      if (key !== undefined) this.highWatermarks.set(key, offset);
    }
  }

  fail(error: TributaryError): void {
    for (const log of this.byKey.values()) log.fail(error);
  }
}

function keyOf({ topicId, partition }: Omit<ReplicaId, 'topic'>): string {
  return partitionKey(topicId, partition);
}
