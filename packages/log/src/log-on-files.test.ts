/** A log directory on real files: rolled, flushed, killed (copied while it is open), recovered, closed, opened. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTopicConfig, silentLogger, systemClock, systemRandom } from '@tributary/common';
import { makeBatch, readWholeLog } from '@tributary/testkit';
import { NodeDisk } from './disk/node-disk';
import { writePrivateFile } from './durable-text-file';
import type { Log } from './log';
import { LogDirectory } from './log-directory';

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const root = fs.mkdtempSync(join(tmpdir(), 'tributary-log-'));
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

const config = { ...defaultTopicConfig, segmentBytes: 64 * 1024, maxMessageBytes: 100_000 };
const open = (directory: string): Promise<LogDirectory> =>
  LogDirectory.open({
    disk: new NodeDisk(),
    directory,
    brokerId: 1,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    configFor: () => config,
  });

test('what was appended is there after kill -9 and after a clean shutdown', async () => {
  const store = await open(`${root}/deep/data`);
  await store.confirmCluster('C1');
  const log = (await store.create('orders', TOPIC_ID, 0, config)) as Log;
  await log.assignEpoch(1);
  for (let i = 0; i < 300; i += 1) {
    const values = [`${i}`.repeat(300), `${i}`];
    log.appendAsLeader(makeBatch({ values, producer: [5, 0, 2 * i] }), { leaderEpoch: 1 });
  }
  const bytes = readWholeLog(log);
  expect(await log.readAsync(400, 1000, Infinity)).toEqual(log.read(400, 1000, Infinity));

  fs.cpSync(`${root}/deep/data`, `${root}/killed`, { recursive: true });
  fs.rmSync(`${root}/killed/.lock`);
  fs.truncateSync(lastLogFile(`${root}/killed/orders-0`), lastSize(`${root}/killed/orders-0`) - 7);
  const killed = await open(`${root}/killed`);
  const recovered = killed.get(TOPIC_ID, 0) as Log;
  expect([killed.cleanShutdownEpoch, recovered.logEndOffset]).toEqual([undefined, 598]);
  expect(readWholeLog(recovered).equals(bytes.subarray(0, recovered.sizeBytes))).toBe(true);
  const again = makeBatch({ values: ['x', 'y'], producer: [5, 0, 598] });
  expect(recovered.appendAsLeader(again, { leaderEpoch: 1 }).baseOffset).toBe(598);
  await killed.close({ clean: true, brokerEpoch: 8 });

  await store.close({ clean: true, brokerEpoch: 7 });
  const reopened = await open(`${root}/deep/data`);
  expect([reopened.cleanShutdownEpoch, reopened.clusterId]).toEqual([7, 'C1']);
  const same = reopened.get(TOPIC_ID, 0) as Log;
  expect(readWholeLog(same).equals(bytes)).toBe(true);
  const retry = makeBatch({ values: ['x', 'y'], producer: [5, 0, 598] });
  expect(same.appendAsLeader(retry, { leaderEpoch: 1 })).toMatchObject({ duplicate: true });
  await reopened.close({ clean: true, brokerEpoch: 9 });
});

test('a private file is readable by its owner alone, also when it replaces another', async () => {
  const path = `${root}/ticket`;
  fs.writeFileSync(path, 'old', { mode: 0o644 });
  await writePrivateFile(new NodeDisk(), path, 'secret');
  expect(fs.readFileSync(path, 'utf8')).toBe('secret');
  expect(fs.statSync(path).mode & 0o777).toBe(0o600);
});

function lastLogFile(directory: string): string {
  const name = fs.readdirSync(directory).findLast((one) => one.endsWith('.log'));
  return `${directory}/${name}`;
}

function lastSize(directory: string): number {
  return fs.statSync(lastLogFile(directory)).size;
}
