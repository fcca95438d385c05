/**
 * All partitions of a broker as the broker sees them: recovered, created, deleted, checkpointed. Implemented by
 * `LogDirectory` (one directory) and `LogDirectories` (several, one of which may fail).
 *
 * Invariant: a replica that was here once is never answered by an empty one unless it was given up explicitly
 * (`delete`, `setAsideDamaged`): an empty replica that is still counted as in sync loses what the others committed.
 */
import type { CompactionTotals } from './compaction/compactor';
import type { LogConfig, PartitionLog } from './partition-log';

export interface LogStore {
  /** How the process before this one ended. */
  readonly previousStop: PreviousStop;
  /** Names of partitions that recovery cut below their checkpointed high watermark. */
  readonly cutBelowHighWatermark: readonly string[];
  /** Recovered logs, by topic id and partition. A log of a directory that failed since stays, with its `failure`. */
  logs(): PartitionLog[];
  get(topicId: string, partition: number): PartitionLog | undefined;
  /**
   * Replicas that should be here and have no log: it cannot be loaded, its directory is offline or gone. `create`
   * refuses them with STORAGE_ERROR until `setAsideDamaged` or `delete` gave them up.
   */
  lost(): LostReplica[];
  directories(): DirectoryStatus[];
  /**
   * Creates the directory `<topic>-<partition>` with its partition.metadata. Throws TOPIC_ID_MISMATCH if a log with
   * another topic id lies there (see `moveAside`), STORAGE_ERROR if this replica is lost.
   */
  create(
    topic: string,
    topicId: string,
    partition: number,
    config: LogConfig,
  ): Promise<PartitionLog>;
  /** Renames to `<topic>-<partition>.<topicId>-delete`, then removes. Only on an explicit StopReplica. Also of what is lost. */
  delete(topicId: string, partition: number): Promise<void>;
  /** A replica that the image does not know: renamed to `<topic>-<partition>.<topicId>-stray`, kept, listed, not served. */
  moveAside(topicId: string, partition: number): Promise<void>;
  /**
   * A damaged replica that is to be refilled: closed, renamed to `<topic>-<partition>.<topicId>-damaged`, kept, listed,
   * not served. Removed at once where there would be no room for both. Also of what is lost; nothing happens
   * where nothing lies.
   */
  setAsideDamaged(replica: ReplicaId): Promise<void>;
  /** What `setAsideDamaged` kept, over restarts. A replica may be named more than once. */
  damaged(): ReplicaId[];
  /** Once the refilled one counts. */
  removeDamaged(topicId: string, partition: number): Promise<void>;
  /**
   * Drops what is damaged of a log and keeps all the rest, so that it can be opened: a person accepted that. Safe to
   * crash at any moment: then it is still damaged, or repaired. Also of what is lost: then it begins anew.
   */
  repair(replica: ReplicaId, options: RepairOptions): Promise<RepairedLog>;
  strays(): ReplicaId[];
  /** HW as last checkpointed; 0 when unknown. */
  checkpointedHighWatermark(topicId: string, partition: number): number;
  /** `replication-offset-checkpoint`, temp file, sync, rename, directory sync. */
  checkpointHighWatermarks(entries: readonly HighWatermarkEntry[]): Promise<void>;
  /** What compaction reads and writes per second from now on, on each directory; undefined: as configured. */
  setCompactionRate(bytesPerSecond: number | undefined): void;
  /** Registered: the running marker holds this epoch from now on, durably. Never rejects for a failed directory. */
  noteBrokerEpoch(brokerEpoch: number): Promise<void>;
  /** Flushes all, writes checkpoints and the clean-shutdown marker (last), releases the lock. */
  close(options: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /** Everything was flushed in order: the next start may believe it. */
  readonly clean: boolean;
  /** -1: it never registered. */
  readonly brokerEpoch: number;
}

/**
 * clean: in order. process: the process died, the page cache survived it. machine: it may be that the machine went
 * down, and with it what was not synced. first: nothing ran here before.
 */
export type StopKind = 'clean' | 'process' | 'machine' | 'first';

export interface PreviousStop {
  readonly kind: StopKind;
  /** Of the last life that had registered. */
  readonly brokerEpoch?: number;
}

export interface LostReplica {
  readonly topic: string;
  /** undefined: what is left does not tell. */
  readonly topicId: string | undefined;
  readonly partition: number;
  readonly reason: string;
  /** Bytes or files of it are not as they were written, on a disk that serves: it may be refilled here. */
  readonly damaged: boolean;
}

export interface ReplicaId {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

export interface RepairOptions {
  readonly config: LogConfig;
  /** The log reached this far once: no offset below it is given to another record. */
  readonly endOffset: number;
  /** As its replica knew it; 0: not known. */
  readonly highWatermark: number;
  /** A leader epoch in which nobody ever wrote, above all in which somebody did. */
  readonly epoch: number;
  /**
   * There are other replicas: what lies behind the first loss is stamped with `epoch`, so that one that still has what is
   * lost here parts from this one there.
   */
  readonly stamped: boolean;
}

export interface RepairedLog {
  readonly log: PartitionLog;
  readonly lost: readonly LostRange[];
}

/** Offsets that no record has any more. */
export interface LostRange {
  readonly fromOffset: number;
  /** Exclusive. */
  readonly toOffset: number;
  readonly path: string;
  /** Where the damage begins in that file. */
  readonly position: number;
  readonly bytes: number;
}

export interface DirectoryStatus {
  readonly path: string;
  /** Why it is offline; undefined: it serves. */
  readonly failure: string | undefined;
  readonly partitions: number;
  readonly freeBytes: number;
  /** Since its start; undefined: nothing is compacted there. */
  readonly compaction?: CompactionTotals;
}

export interface HighWatermarkEntry {
  readonly topic: string;
  /** Tells two topics of one name apart, where one was created again. */
  readonly topicId?: string;
  readonly partition: number;
  readonly offset: number;
}
