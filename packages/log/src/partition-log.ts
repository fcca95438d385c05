/**
 * One partition's log as the broker sees it. Implemented by `Log`; the broker's core depends on this
 * interface alone.
 *
 * Invariants: logStartOffset <= logEndOffset; leader epochs never decrease along the log; what is read is
 * exactly what was appended; append and truncate are synchronous and all-or-nothing. After an I/O error the
 * log is failed: every later call throws STORAGE_ERROR (KAFKA-10778), except after DISK_FULL, which
 * leaves it as it was before the call.
 */
import type { TopicConfig } from '@tributary/common';

export interface PartitionLog {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly logStartOffset: number;
  /** Next offset (LEO). */
  readonly logEndOffset: number;
  /** Epoch of the newest entry of the epoch cache; -1: none. */
  readonly latestEpoch: number;
  /** Epoch of the last batch; -1: empty. */
  readonly lastBatchEpoch: number;
  readonly sizeBytes: number;
  /** About how many of them lie from `offset` on; nothing is read for it. */
  bytesFrom(offset: number): number;
  /**
   * Everything below it is on the device. With `flush=sync` only that counts for the high watermark and for acks; then the log
   * itself brings each append there, many with one sync. Goes back only with a truncation.
   */
  readonly durableEndOffset: number;
  /** Set after an I/O error. */
  readonly failure: Error | undefined;

  /** The one who is told from now on of what happens without a call; replaces the one before. */
  observe(observer: LogObserver): void;

  /** Settings may change while it is open. */
  configure(config: LogConfig): void;
  /** What is committed, told at each move: nothing at or above it is deleted or compacted. */
  noteHighWatermark(offset: number): void;

  /**
   * Assigns offsets and epoch in place, checks the producer's sequence, appends.
   * `batch` is one whole RecordBatch, already validated (header, CRC, size). Throws OUT_OF_ORDER_SEQUENCE,
   * UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_EPOCH, UNEXPECTED_OFFSET, DISK_FULL, STORAGE_ERROR, all 'not written'
   * (STORAGE_ERROR: 'maybe written').
   */
  appendAsLeader(batch: Buffer, options: LeaderAppendOptions): LeaderAppend;
  /**
   * Whole batches from the leader, as they are. The first base offset must be at or above the log end
   * offset (compaction leaves gaps), epochs must not decrease, CRCs must match. Throws CORRUPT_BATCH or INVALID_BATCH
   * and appends nothing.
   */
  appendAsFollower(batches: Buffer): void;

  /**
   * Whole batches from the one that contains `offset`, at most `maxBytes` but at least one batch, and none
   * that reaches to or beyond `below`. Empty at the end. Throws OFFSET_OUT_OF_RANGE.
   */
  read(offset: number, maxBytes: number, below: number): Buffer;
  /** As `read`, without blocking the event loop for cold data. */
  readAsync(offset: number, maxBytes: number, below: number): Promise<Buffer>;
  /**
   * Base offset of the batch that holds `offset`; `offset` itself where none does. Below the log start when that lies within
   * a batch: where a copy of this log has to begin. Throws as `read`.
   */
  batchStart(offset: number): number;

  /**
   * Records that `epoch` starts at the log end, even if nothing is ever written in it (KAFKA-7415). When it resolves
   * that survives the death of the process; the power's from the next flush on, so before anything of it counts as durable.
   */
  assignEpoch(epoch: number): Promise<void>;
  /**
   * The largest epoch at or below `epoch` and the offset at which it ends (start of the next, or log end).
   * undefined: all entries are above, or there are none.
   */
  epochEnd(epoch: number): EpochEnd | undefined;

  /**
   * Before a truncation or a restart that takes away what lies behind `offset`: undefined, go on; or wait. After the
   * wait, look again whether it is still wanted.
   */
  prepareCut(offset: number): Promise<void> | undefined;
  /** What `prepareCut` announced does not come: all that is here counts again, with `flush=sync` once it is on the device. */
  withdrawCut(): void;
  /** Drops everything from `offset` on, the epochs and producer states of it included. Before the next append: `settleCuts`. */
  truncateTo(offset: number): void;
  /** Drops everything and starts at `offset`. Before the next append: `settleCuts`. */
  restartAt(offset: number): void;
  /**
   * Resolves once truncations and restarts are on the device, and no checkpoint there vouches for what was cut; at once where
   * there were none. Appending earlier is safe from the death of the process, not from the power's: old and
   * new bytes could be taken for one sound log by the next start. After a rejection call it again.
   */
  settleCuts(): Promise<void>;
  readonly cutsAreSettled: boolean;

  /**
   * Raises the log start: what is below is not read any more, segments wholly below go in the background. Not above
   * the noted high watermark: OFFSET_OUT_OF_RANGE. At or below the log start: nothing happens.
   */
  deleteRecordsBefore(offset: number): void;
  /** Resolves once a start after a power failure would know the present log start. */
  storeLogStart(): Promise<void>;

  /** First record whose timestamp is at or after this, below `below`. */
  offsetForTimestamp(timestamp: number, below: number): TimestampedOffset | undefined;
  maxTimestamp(below: number): TimestampedOffset | undefined;

  /** Everything appended before the call is on the device when it resolves. */
  flush(): Promise<void>;
  /** Flushes and closes the files; later calls throw CLOSED. Idempotent. */
  close(): Promise<void>;
}

/** Called in the order of events, from within the log: do not throw. */
export interface LogObserver {
  /** `durableEndOffset` rose. */
  durable(): void;
  /** It failed just now, maybe in the background: see `failure`. */
  failed(error: Error): void;
}

/** The settings of its topic that a log obeys. */
export type LogConfig = Omit<TopicConfig, 'minInsyncReplicas'>;

export interface LeaderAppendOptions {
  readonly leaderEpoch: number;
  /** Conditional append, checked after duplicate detection. */
  readonly expectedOffset?: number;
}

export interface LeaderAppend {
  readonly baseOffset: number;
  readonly lastOffset: number;
  /** One of the last five batches of this producer: nothing was appended, the offsets are the first time's. */
  readonly duplicate: boolean;
}

export interface EpochEnd {
  readonly epoch: number;
  readonly endOffset: number;
}

export interface TimestampedOffset {
  readonly offset: number;
  readonly timestamp: number;
}
