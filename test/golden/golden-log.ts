/**
 * The log directories whose bytes are under version control, written by the production code on a simulated disk and clock,
 * so that each run writes the same bytes. `plain` has every kind of file that a broker leaves behind a clean stop;
 * `codecs` a log of every codec, whose compressed bytes depend on the versions of the codecs' packages.
 * Called by the golden test and by `npm run golden`.
 */
import {
  defaultTopicConfig,
  seededRandom,
  silentLogger,
  type TopicConfig,
} from '@tributary/common';
import { Compactor, LogDirectories, type Disk, type Log, type PartitionLog } from '@tributary/log';
import { BatchBuilder, CODEC_NAMES, type CodecName } from '@tributary/record';
import { SimulatedClock, SimulatedDisk } from '@tributary/testkit';

export const ROOT = '/data';
/** Of `plain`, which spreads its replicas over both; of `codecs` the first alone. */
export const DIRECTORIES = [`${ROOT}/first`, `${ROOT}/second`];
export const BROKER_EPOCH = 42;
const CLUSTER_ID = 'goldenClusterAAAAAAAAA';

export const ORDERS = { topic: 'orders', topicId: 'goldenOrdersAAAAAAAAAA', partition: 0 };
export const PRICES = { topic: 'prices', topicId: 'goldenPricesAAAAAAAAAA', partition: 0 };
export const CODECS = { topic: 'codecs', topicId: 'goldenCodecsAAAAAAAAAA', partition: 0 };

const ordersConfig: TopicConfig = { ...defaultTopicConfig, segmentBytes: 6000 };
const pricesConfig: TopicConfig = {
  ...defaultTopicConfig,
  segmentBytes: 2500,
  cleanupPolicy: 'compact',
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: 1_000_000,
};
const COMPACTED_WITHIN_MS = 600_000;

export interface GoldenWorld {
  readonly disk: SimulatedDisk;
  readonly clock: SimulatedClock;
}

export function newWorld(): GoldenWorld {
  return { disk: new SimulatedDisk(), clock: new SimulatedClock() };
}

export async function openGolden(
  { disk, clock }: { readonly disk: Disk; readonly clock: SimulatedClock },
  directories: readonly string[] = DIRECTORIES,
): Promise<LogDirectories> {
  const store = await LogDirectories.open({
    disk,
    directories,
    brokerId: 1,
    clusterId: CLUSTER_ID,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    configFor: (topic) => (topic === PRICES.topic ? pricesConfig : ordersConfig),
  });
  await store.noteBrokerEpoch(BROKER_EPOCH);
  return store;
}

/** Three segments, two leader epochs, two producers; a compacted log; all checkpoints; a clean stop. */
export async function writePlain(world: GoldenWorld): Promise<void> {
  const store = await openGolden(world);
  const orders = await create(store, ORDERS, ordersConfig);
  await orders.assignEpoch(1);
  for (let i = 0; i < 12; i += 1) {
    if (i === 8) await orders.assignEpoch(2);
    await world.clock.advance(1000);
    const values = i % 4 === 1 ? ['x'.repeat(4200)] : [`order ${i}`, null, `order ${i} again`];
    append(orders, i < 8 ? 1 : 2, {
      values,
      timestamp: world.clock.wallTime(),
      producer: [100 + (i % 2), 0],
    });
  }
  const prices = await create(store, PRICES, pricesConfig);
  for (let i = 0; i < 60; i += 1) {
    await world.clock.advance(10);
    const key = `symbol-${i % 4}`;
    const value = i % 4 === 3 && i > 30 ? null : `price ${i} ${'.'.repeat(40)}`;
    append(prices, 0, {
      values: [value],
      keys: [key],
      timestamp: world.clock.wallTime(),
      producer: [200 + (i % 3), 1],
    });
  }
  commit(prices);
  const compactor = new Compactor({ clock: world.clock, logger: silentLogger });
  await world.clock.settleWithin(compactor.runOnce(prices as Log), COMPACTED_WITHIN_MS);
  orders.noteHighWatermark(orders.logEndOffset);
  orders.deleteRecordsBefore(2);
  await close(world, store);
}

/** One batch of each codec after the other, twice. */
export async function writeCodecs(world: GoldenWorld): Promise<void> {
  const store = await openGolden(world, DIRECTORIES.slice(0, 1));
  const log = await create(store, CODECS, ordersConfig);
  for (const codec of [...CODEC_NAMES, ...CODEC_NAMES]) {
    append(log, 0, { values: codecValues(codec), codec, timestamp: world.clock.wallTime() });
  }
  await close(world, store);
}

export function codecValues(codec: CodecName): (string | null)[] {
  return Array.from({ length: 20 }, (_, i) =>
    i === 7 ? null : `${codec} ${i} ${'and so on '.repeat(i)}`,
  );
}

function create(
  store: LogDirectories,
  { topic, topicId, partition }: typeof ORDERS,
  config: TopicConfig,
): Promise<PartitionLog> {
  return store.create(topic, topicId, partition, config);
}

interface GoldenBatch {
  readonly values: readonly (string | null)[];
  readonly keys?: readonly string[];
  readonly timestamp: number;
  readonly producer?: readonly [producerId: number, producerEpoch: number];
  readonly codec?: CodecName;
}

const sequences = new WeakMap<PartitionLog, Map<number, number>>();

function append(log: PartitionLog, leaderEpoch: number, batch: GoldenBatch): void {
  const { values, keys, timestamp, producer, codec = 'none' } = batch;
  const builder = new BatchBuilder({ codec });
  values.forEach((value, i) => {
    const key = keys?.[i];
    builder.append({
      key: key === undefined ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: i === 1 ? [{ key: 'trace', value: Buffer.from('t1') }] : [],
      timestamp: timestamp + i,
    });
  });
  const [producerId, producerEpoch] = producer ?? [-1, -1];
  const baseSequence = producer ? nextSequence(log, producerId, values.length) : -1;
  log.appendAsLeader(builder.build({ producerId, producerEpoch, baseSequence }), { leaderEpoch });
}

function nextSequence(log: PartitionLog, producerId: number, count: number): number {
  const ofLog = sequences.get(log) ?? new Map<number, number>();
  sequences.set(log, ofLog);
  const next = ofLog.get(producerId) ?? 0;
  ofLog.set(producerId, next + count);
  return next;
}

function commit(log: PartitionLog): void {
  log.noteHighWatermark(log.logEndOffset);
}

async function close(world: GoldenWorld, store: LogDirectories): Promise<void> {
  await store.checkpointHighWatermarks(
    store.logs().map(({ topic, partition, logEndOffset }) => ({
      topic,
      partition,
      offset: logEndOffset,
    })),
  );
  const closing = store.close({ clean: true, brokerEpoch: BROKER_EPOCH });
  await world.clock.settleWithin(closing, COMPACTED_WITHIN_MS);
}
