/** Compaction on real files, under readers of the thread pool and a writer; then opened again, clean and killed. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock, systemRandom } from '@tributary/common';
import { decodeBatch, readBatchHeader, splitBatches } from '@tributary/record';
import { readWholeLog, TEST_TOPIC_ID } from '@tributary/testkit';
import { NodeDisk } from '../disk/node-disk';
import type { Log } from '../log';
import { LogDirectory } from '../log-directory';
import { compactedConfig, keyedBatch } from './keyed-log.fixture';

const root = fs.mkdtempSync(join(tmpdir(), 'tributary-compaction-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

const config = { ...compactedConfig, segmentBytes: 32 * 1024 };
const KEYS = 50;

function open(directory: string): Promise<LogDirectory> {
  return LogDirectory.open({
    disk: new NodeDisk(),
    directory,
    brokerId: 1,
    clusterId: 'c',
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    configFor: () => config,
  });
}

let serial = 0;
const sent = new Map<string, string>();

function append(log: Log, batches: number): void {
  for (let i = 0; i < batches; i += 1) {
    const key = `k${serial % KEYS}`;
    const value = `${(serial += 1)}`.padEnd(200, '.');
    sent.set(key, value);
    const batch = keyedBatch({ records: [`${key}=${value}`] }, systemClock.wallTime());
    log.appendAsLeader(batch, { leaderEpoch: 0 });
  }
  log.noteHighWatermark(log.logEndOffset);
}

/** By the thread pool, some batches at a time. */
async function latest(log: Log): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
    const batches = splitBatches(await log.readAsync(offset, 3_000, log.logEndOffset));
    for (const { key, value } of batches.flatMap((batch) => decodeBatch(batch))) {
      seen.set(key?.toString() ?? '', value?.toString() ?? '');
    }
    offset = readBatchHeader(batches.at(-1) as Buffer).lastOffset + 1;
  }
  return seen;
}

test('readers and a writer go on under passes, and the next process finds the same', async () => {
  const store = await open(`${root}/data`);
  const log = (await store.create('orders', TEST_TOPIC_ID, 0, config)) as Log;
  append(log, 1_500);
  for (let round = 0; round < 3; round += 1) {
    const passes = store.compactor.runOnce(log);
    const readers = Promise.all([latest(log), latest(log), latest(log)]);
    append(log, 300);
    expect((await passes).status).toBe('done');
    for (const seen of await readers) expect(seen.size).toBe(KEYS);
    expect(await latest(log)).toEqual(sent);
  }
  expect(log.sizeBytes).toBeLessThan(1_000 * 280);
  const bytes = readWholeLog(log);

  fs.cpSync(`${root}/data`, `${root}/killed`, { recursive: true });
  fs.rmSync(`${root}/killed/.lock`);
  const killed = await open(`${root}/killed`);
  const recovered = killed.get(TEST_TOPIC_ID, 0) as Log;
  expect(recovered.cutBytes).toBe(0);
  expect(readWholeLog(recovered).equals(bytes)).toBe(true);
  await killed.close({ clean: true, brokerEpoch: 2 });

  await store.close({ clean: true, brokerEpoch: 1 });
  const reopened = await open(`${root}/data`);
  const same = reopened.get(TEST_TOPIC_ID, 0) as Log;
  expect(readWholeLog(same).equals(bytes)).toBe(true);
  expect(same.compaction.compactedTo).toBe(log.compaction.compactedTo);
  await reopened.close({ clean: true, brokerEpoch: 3 });
});
