/**
 * The formats on disk do not change unnoticed: what earlier code wrote is read, and what this code writes is the same,
 * byte for byte. A change that is meant: `npm run golden`, in a commit that says why, and that old files are still read.
 */
import { join } from 'node:path';
import { decodeBatch, splitBatches, CODEC_NAMES } from '@tributary/record';
import { InspectionReport, verifyPath, type Log, type PartitionLog } from '@tributary/log';
import { readWholeLog } from '@tributary/testkit';
import { filesOnDisk, filesUnder, putOnDisk, type Files } from './golden-files';
import {
  BROKER_EPOCH,
  CODECS,
  codecValues,
  DIRECTORIES,
  newWorld,
  openGolden,
  ORDERS,
  PRICES,
  ROOT,
  writePlain,
  type GoldenWorld,
} from './golden-log';

const plain = filesUnder(join(__dirname, 'plain'));
const codecs = filesUnder(join(__dirname, 'codecs'));

function worldWith(files: Files): GoldenWorld {
  const world = newWorld();
  putOnDisk(world.disk, ROOT, files);
  return world;
}

function recordsOf(log: PartitionLog) {
  return splitBatches(readWholeLog(log as Log)).flatMap((batch) => decodeBatch(batch));
}

test('there is a file of each format', () => {
  const kinds = [...plain.keys()].map((path) => path.replace(/^.*\/|[0-9]{20}/g, ''));
  expect([...new Set(kinds)].sort()).toEqual([
    '.index',
    '.kafka_cleanshutdown',
    '.log',
    '.seal',
    '.snapshot',
    '.timeindex',
    '.tributary_placement',
    '.tributary_running',
    'cleaner-offset-checkpoint',
    'cleaner-offset-checkpoint.crc',
    'leader-epoch-checkpoint',
    'leader-epoch-checkpoint.crc',
    'log-start-offset-checkpoint',
    'log-start-offset-checkpoint.crc',
    'meta.properties',
    'offset-gaps',
    'partition.metadata',
    'partition.metadata.crc',
    'recovery-point-offset-checkpoint',
    'recovery-point-offset-checkpoint.crc',
    'replication-offset-checkpoint',
    'replication-offset-checkpoint.crc',
  ]);
});

test('this code writes the same bytes', async () => {
  const world = newWorld();
  await writePlain(world);
  const written = filesOnDisk(world.disk, ROOT);
  expect([...written.keys()].sort()).toEqual([...plain.keys()].sort());
  for (const [path, bytes] of written) {
    expect([path, bytes.toString('latin1')]).toEqual([path, plain.get(path)?.toString('latin1')]);
  }
});

test.each([
  ['plain', plain],
  ['codecs', codecs],
])('every byte of %s is in order', async (_name, files) => {
  const { disk, clock } = worldWith(files);
  const damages: unknown[] = [];
  const report = new InspectionReport(
    (damage) => damages.push(damage),
    () => undefined,
  );
  for (const directory of DIRECTORIES.filter((path) => disk.exists(path))) {
    await verifyPath({ disk, clock, report }, directory);
  }
  expect(damages).toEqual([]);
  expect(report.batches).toBeGreaterThan(9);
});

test('the logs that were written are read: offsets, epochs, producers, a clean stop', async () => {
  const world = worldWith(plain);
  const store = await openGolden(world);
  expect(store.previousStop).toEqual({ kind: 'clean', brokerEpoch: BROKER_EPOCH });
  const orders = store.get(ORDERS.topicId, 0) as PartitionLog;
  expect([orders.logStartOffset, orders.logEndOffset]).toEqual([2, 30]);
  expect(orders.epochEnd(1)).toEqual({ epoch: 1, endOffset: 20 });
  expect(orders.maxTimestamp(Infinity)).toMatchObject({ offset: 29 });
  expect(store.checkpointedHighWatermark(ORDERS.topicId, 0)).toBe(30);
  expect(recordsOf(orders)).toHaveLength(30); // the first batch reaches over the log start
  const prices = recordsOf(store.get(PRICES.topicId, 0) as PartitionLog);
  const last = new Map(prices.map(({ key, value }) => [String(key), value && String(value)]));
  expect([...last.keys()].sort()).toEqual(['symbol-0', 'symbol-1', 'symbol-2', 'symbol-3']);
  expect(last.get('symbol-3')).toBeNull();
  expect(prices.length).toBeLessThan(40);
  await store.close({ clean: true, brokerEpoch: BROKER_EPOCH });
});

test('a log of every codec is read', async () => {
  const store = await openGolden(worldWith(codecs), DIRECTORIES.slice(0, 1));
  const values = recordsOf(store.get(CODECS.topicId, 0) as PartitionLog).map(
    ({ value }) => value && String(value),
  );
  const once = CODEC_NAMES.flatMap((codec) => codecValues(codec));
  expect(values).toEqual([...once, ...once]);
  await store.close({ clean: true, brokerEpoch: BROKER_EPOCH });
});
