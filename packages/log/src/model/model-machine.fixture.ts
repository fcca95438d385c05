/** One machine with one broker's log directory and one log in it, as processes come and go. Called by the model test of the log. */
import { silentLogger, type Random, type TopicConfig } from '@tributary/common';
import {
  assignOffsetAndEpoch,
  BatchBuilder,
  decodeBatch,
  readBatchHeader,
  splitBatches,
} from '@tributary/record';
import { readWholeLog, settle, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Log } from '../log';
import { LogDirectory } from '../log-directory';
import { modelConfig } from './model-action.fixture';
import type { ModelBatch, ModelRecord } from './model-log.fixture';

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const DATA = '/data';
export const LOG_DIRECTORY = `${DATA}/orders-0`;
/** For some passes not all keys have room. */
const KEY_MAP_BYTES = 24 * 12;
const PASS_MS = 600_000;

export interface FoundRecord extends ModelRecord {
  readonly epoch: number;
}

export class ModelMachine {
  readonly disk = new SimulatedDisk();
  readonly clock = new SimulatedClock();
  config: TopicConfig = modelConfig;
  log!: Log;
  private store!: LogDirectory;

  constructor(private readonly random: Random) {}

  async open(): Promise<void> {
    this.store = await this.within(
      LogDirectory.open({
        disk: this.disk.mount(),
        directory: DATA,
        brokerId: 1,
        clusterId: 'c',
        clock: this.clock,
        random: this.random,
        logger: silentLogger,
        configFor: () => this.config,
        compactionLimits: { maxKeyMapBytes: KEY_MAP_BYTES, compactionSliceBytes: 2_000 },
      }),
    );
    for (const { reason } of this.store.lost()) throw new Error(`the log is lost: ${reason}`);
    this.log = (await this.within(this.store.create('orders', TOPIC_ID, 0, this.config))) as Log;
  }

  /** What waits for the disk goes on; no time passes. */
  settle(): Promise<void> {
    return settle();
  }

  within<T>(work: Promise<T>): Promise<T> {
    return this.clock.settleWithin(work, PASS_MS);
  }

  configure(change: Partial<TopicConfig>): void {
    this.config = { ...this.config, ...change };
    this.log.configure(this.config);
  }

  /** A round of retention, and all of compaction that is due. */
  async maintain(): Promise<void> {
    await this.within(this.store.maintenance.run());
    await this.within(this.store.compactor.whenIdle());
  }

  /** As `maintain`, and nobody waits for it. */
  beginMaintenance(): void {
    void this.store.maintenance.run();
  }

  async close(clean: boolean): Promise<void> {
    await this.within(this.store.close({ clean, brokerEpoch: 1 }));
    this.disk.crash({ loseUnsynced: false, random: this.random });
  }

  crash(loseUnsynced: boolean): void {
    this.disk.crash({ loseUnsynced, random: this.random });
  }

  /** From the log start on. */
  found(): { readonly batches: Buffer[]; readonly records: FoundRecord[] } {
    const batches = splitBatches(readWholeLog(this.log));
    const records = batches.flatMap((batch) => {
      const { leaderEpoch: epoch } = readBatchHeader(batch);
      return decodeBatch(batch).map(({ offset, key, value, timestamp }): FoundRecord => {
        const text = value === null ? null : value.toString();
        return { offset, key: String(key), value: text, timestamp, epoch };
      });
    });
    return { batches, records: records.filter(({ offset }) => offset >= this.log.logStartOffset) };
  }

  get logFileBytes(): number {
    const names = this.disk.list(LOG_DIRECTORY).filter((name) => name.endsWith('.log'));
    return names.reduce((sum, name) => sum + this.disk.fileSize(`${LOG_DIRECTORY}/${name}`), 0);
  }
}

/** Its bytes, as a leader has stamped them. */
export function bytesOf(batch: ModelBatch, codec: 'none' | 'gzip' = 'none'): Buffer {
  const builder = new BatchBuilder({ codec, initialBytes: 256 });
  for (const { key, value, timestamp } of batch.records) {
    const bytes = value === null ? null : Buffer.from(value);
    builder.append({ key: Buffer.from(key), value: bytes, headers: [], timestamp });
  }
  const { id = -1, epoch = -1, baseSequence = -1 } = batch.producer ?? {};
  const bytes = builder.build({ producerId: id, producerEpoch: epoch, baseSequence });
  assignOffsetAndEpoch(bytes, batch.base, batch.epoch);
  return bytes;
}
