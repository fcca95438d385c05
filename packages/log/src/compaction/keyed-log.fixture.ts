/** A compacted log for tests: keyed records in, compaction passes, records out. */
import { defaultTopicConfig, silentLogger, type TopicConfig } from '@tributary/common';
import {
  assignOffsetAndEpoch,
  BatchBuilder,
  decodeBatch,
  readBatchHeader,
  splitBatches,
  type BatchHeader,
  type CodecName,
} from '@tributary/record';
import { openTestLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Log } from '../log';
import type { LogOptions } from '../log-options';
import type { CompactionLimits } from './compaction-limits';
import { Compactor, type CompactionOutcome } from './compactor';

export const LOG_DIRECTORY = '/data/orders-0';

export const compactedConfig: TopicConfig = {
  ...defaultTopicConfig,
  cleanupPolicy: 'compact',
  segmentBytes: 1024,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: 10_000,
};

export interface KeyedBatch {
  /** "key=value", "key=" for a tombstone, "=value" without a key. */
  readonly records: readonly string[];
  readonly producer?: readonly [producerId: number, producerEpoch: number, baseSequence: number];
  readonly codec?: CodecName;
  readonly leaderEpoch?: number;
  /** As a leader has stamped it; only for replicated appends. */
  readonly baseOffset?: number;
}

export function keyedBatch(options: KeyedBatch, timestamp: number): Buffer {
  const [producerId, producerEpoch, baseSequence] = options.producer ?? [-1, -1, -1];
  const builder = new BatchBuilder({ codec: options.codec ?? 'none', initialBytes: 256 });
  for (const text of options.records) {
    const at = text.indexOf('=');
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    builder.append({
      key: key === '' ? null : Buffer.from(key),
      value: value === '' ? null : Buffer.from(value),
      headers: [],
      timestamp,
    });
  }
  const batch = builder.build({ producerId, producerEpoch, baseSequence });
  assignOffsetAndEpoch(batch, options.baseOffset ?? 0, options.leaderEpoch ?? 0);
  return batch;
}

export class KeyedLog {
  log!: Log;
  readonly clock = new SimulatedClock();
  compactor: Compactor;
  /** Is what is appended committed at once? */
  commitsAtOnce = true;
  private config: TopicConfig;

  private constructor(
    config: Partial<TopicConfig>,
    readonly disk: SimulatedDisk,
    private readonly limits: Partial<CompactionLimits>,
  ) {
    this.config = { ...compactedConfig, ...config };
    this.compactor = this.newCompactor();
  }

  static async open(
    config: Partial<TopicConfig> = {},
    limits: Partial<CompactionLimits> = {},
    disk = new SimulatedDisk(),
  ): Promise<KeyedLog> {
    const keyed = new KeyedLog(config, disk, limits);
    disk.makeDirectory(LOG_DIRECTORY);
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    await keyed.reopen();
    return keyed;
  }

  /** As the next process would: with what the checkpoints say. */
  async reopen(options: Partial<LogOptions> = {}): Promise<void> {
    this.compactor = this.newCompactor();
    this.log = await openTestLog(this.disk.mount(), LOG_DIRECTORY, {
      config: this.config,
      clock: this.clock,
      ...options,
    });
    if (this.commitsAtOnce) this.log.noteHighWatermark(this.log.logEndOffset);
  }

  configure(config: Partial<TopicConfig>): void {
    this.config = { ...this.config, ...config };
    this.log.configure(this.config);
  }

  /** One batch. */
  append(...records: string[]): number {
    return this.appendBatch({ records });
  }

  appendBatch(options: KeyedBatch): number {
    const batch = keyedBatch(options, this.clock.wallTime());
    const { leaderEpoch = Math.max(0, this.log.latestEpoch) } = options;
    const { baseOffset } = this.log.appendAsLeader(batch, { leaderEpoch });
    if (this.commitsAtOnce) this.log.noteHighWatermark(this.log.logEndOffset);
    return baseOffset;
  }

  /** The active segment is sealed; the log goes on in another one. Not an append: the offset of one batch passes. */
  seal(): void {
    const filler = 'x'.repeat(this.config.segmentBytes - 100);
    this.append(`filler=${filler}`);
    this.append(`filler=${filler}`);
  }

  compact(): Promise<CompactionOutcome> {
    return this.compactor.runOnce(this.log);
  }

  /** "offset key=value" of every record but the fillers, from the log start or from `offset`. */
  records(offset = this.log.logStartOffset): string[] {
    return this.batches(offset)
      .flatMap((batch) => decodeBatch(batch))
      .filter((record) => record.offset >= offset && record.key?.toString() !== 'filler')
      .map(
        ({ offset: at, key, value }) => `${at} ${key?.toString() ?? ''}=${value?.toString() ?? ''}`,
      );
  }

  headers(): BatchHeader[] {
    return this.batches().map((batch) => readBatchHeader(batch));
  }

  batches(from = this.log.logStartOffset): Buffer[] {
    const batches: Buffer[] = [];
    for (let offset = from; offset < this.log.logEndOffset;) {
      const part = splitBatches(this.log.read(offset, 2 ** 20, Infinity));
      const last = part.at(-1);
      if (!last) break;
      batches.push(...part);
      offset = readBatchHeader(last).lastOffset + 1;
    }
    return batches;
  }

  /** The records of one read. Returns where the next one goes on. */
  readSome(
    offset: number,
    below: number,
    take: (record: { offset: number; key: string; value: string }) => void,
  ): number {
    const batches = splitBatches(this.log.read(offset, 500, below));
    let next = offset;
    for (const batch of batches) {
      next = readBatchHeader(batch).lastOffset + 1;
      for (const { offset: at, key, value } of decodeBatch(batch)) {
        if (at < offset) continue;
        take({ offset: at, key: key?.toString() ?? '', value: value?.toString() ?? '' });
      }
    }
    // A batch may reach beyond what is committed.
    return batches.length > 0 ? next : Math.min(below, this.log.logEndOffset);
  }

  files(): string[] {
    return this.disk.list(LOG_DIRECTORY).filter((name) => name.includes('.log'));
  }

  private newCompactor(): Compactor {
    return new Compactor({
      clock: this.clock,
      logger: silentLogger,
      compactionLimits: this.limits,
    });
  }
}
