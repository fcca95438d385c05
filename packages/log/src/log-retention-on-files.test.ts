/** Readers and deletions at the same time, on real files and real threads. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTopicConfig, systemClock } from '@tributary/common';
import { makeBatch, openTestLog } from '@tributary/testkit';
import { NodeDisk } from './disk/node-disk';

const root = fs.mkdtempSync(join(tmpdir(), 'tributary-retention-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

test('a read under which segment after segment goes ends with its bytes or OFFSET_OUT_OF_RANGE', async () => {
  const log = await openTestLog(new NodeDisk(), `${root}/orders-0`, {
    clock: systemClock,
    config: { ...defaultTopicConfig, segmentBytes: 1024, retentionMs: -1 },
  });
  const batches = Array.from({ length: 300 }, (_, i) =>
    makeBatch({ values: [`${i} `.repeat(60)] }),
  );
  for (const batch of batches) log.appendAsLeader(batch, { leaderEpoch: 0 });
  log.noteHighWatermark(300);
  const outcomes: Promise<string>[] = [];
  for (let start = 0; start <= 300; start += 10) {
    for (let offset = start; offset < 300; offset += 7) {
      const read = log.readAsync(offset, 1, Infinity).then(
        (bytes) => (bytes.equals(batches[offset]!) ? 'right' : `other bytes at ${offset}`),
        (error: { code: string; message: string }) => error.code,
      );
      outcomes.push(read);
    }
    log.deleteRecordsBefore(start);
    log.upkeep.retain();
    while (log.upkeep.removeObsoleteSegment()) await new Promise(setImmediate);
  }
  const seen = new Set(await Promise.all(outcomes));
  expect([...seen].sort()).toEqual(['OFFSET_OUT_OF_RANGE', 'right']);
  expect(log.failure).toBeUndefined();
  expect(fs.readdirSync(`${root}/orders-0`).filter((name) => name.endsWith('.log'))).toHaveLength(
    1,
  );
  await log.close();
});
