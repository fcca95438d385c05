/** Every byte of the small files of a log directory, flipped: noticed, told, and never taken for something else. */
import { defaultTopicConfig, seededRandom, silentLogger, type Logger } from '@tributary/common';
import { makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LogDirectory } from './log-directory';

const directory = '/data';
const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
let disk: SimulatedDisk;
let told: string[];

const open = (): Promise<LogDirectory> => {
  told = [];
  const tell: Logger['error'] = (message, fields) =>
    told.push(`${message}: ${JSON.stringify(fields)}`);
  return LogDirectory.open({
    disk,
    directory,
    brokerId: 1,
    clock: new SimulatedClock(),
    random: seededRandom(1),
    logger: { ...silentLogger, error: tell },
    configFor: () => config,
  });
};

/** Ten records, committed up to 8, the first 3 deleted; closed in order. */
async function prepare(): Promise<void> {
  disk = new SimulatedDisk();
  const store = await open();
  const log = await store.create('orders', ORDERS, 0, config);
  for (let i = 0; i < 10; i += 1) {
    log.appendAsLeader(makeBatch({ values: [`${i}`] }), { leaderEpoch: 0 });
  }
  log.noteHighWatermark(8);
  log.deleteRecordsBefore(3);
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 8 }]);
  await store.close({ clean: true, brokerEpoch: 5 });
}

const sizeOf = (path: string): number => disk.openFile(path).size;
const close = (store: LogDirectory): Promise<void> => store.close({ clean: true, brokerEpoch: 5 });

const checkpoints = ['recovery-point', 'replication', 'log-start'].flatMap((name) => [
  `${name}-offset-checkpoint`,
  `${name}-offset-checkpoint.crc`,
]);

test.each(checkpoints)('%s: told, and not used', async (name) => {
  await prepare();
  const size = sizeOf(`${directory}/${name}`);
  for (let byte = 0; byte < size; byte += 3) {
    await prepare();
    disk.flipBit(`${directory}/${name}`, byte, byte % 8);
    const store = await open();
    // The companion also names the content before: what changed there is found when it is needed.
    if (name.endsWith('.crc') && byte > 'crc32c 01234567'.length && told.length === 0) continue;
    expect(told).toEqual([
      expect.stringMatching(/^a checkpoint file is damaged and not used: .*therefore/),
    ]);
    const log = store.get(ORDERS, 0)!;
    expect(log.logEndOffset).toBe(10);
    const isHighWatermark = name.startsWith('replication');
    const isLogStart = name.startsWith('log-start');
    expect(store.checkpointedHighWatermark(ORDERS, 0)).toBe(isHighWatermark ? 0 : 8);
    expect(log.logStartOffset).toBe(isLogStart ? 0 : 3);
    await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 9 }]);
    await close(store);
    await close(await open());
    expect(told).toEqual([]); // written anew
  }
});

test('meta.properties: whose directory it is cannot be told any more, so it is not touched', async () => {
  await prepare();
  const path = `${directory}/meta.properties`;
  for (let byte = 0; byte < sizeOf(path); byte += 1) {
    disk.flipBit(path, byte, byte % 7);
    const outcome = await open().then(
      async (store) => {
        await close(store);
        return 'opened';
      },
      (error: { code: string }) => error.code,
    );
    disk.flipBit(path, byte, byte % 7);
    // In the comment itself it may go unnoticed: everything else is as it was.
    const isComment = byte < '# crc32c=01234567'.length;
    expect(['CORRUPT_LOG', ...(isComment ? ['opened'] : [])]).toContain(outcome);
  }
});

test('meta.properties, cut anywhere: damaged, not of another format or another broker', async () => {
  await prepare();
  const path = `${directory}/meta.properties`;
  for (let size = sizeOf(path) - 2; size >= 0; size -= 1) {
    const file = disk.openFile(path);
    file.truncate(size);
    file.close();
    await expect(open()).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
  }
});

test.each(['partition.metadata', 'partition.metadata.crc'])(
  '%s: the replica is lost, not taken for another topic’s, and no empty one comes in its place',
  async (name) => {
    await prepare();
    const path = `${directory}/orders-0/${name}`;
    for (let byte = 0; byte < sizeOf(path); byte += 1) {
      disk.flipBit(path, byte, byte % 7);
      const store = await open();
      expect(store.logs()).toEqual([]);
      expect(store.lost()).toMatchObject([{ topic: 'orders', partition: 0 }]);
      await expect(store.create('orders', ORDERS, 0, config)).rejects.toMatchObject({
        code: 'STORAGE_ERROR',
      });
      await close(store);
      disk.flipBit(path, byte, byte % 7);
    }
    expect((await open()).get(ORDERS, 0)?.logEndOffset).toBe(10);
  },
);
