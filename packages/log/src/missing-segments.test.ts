/** Segment files that somebody took away at the end of a log, or all of them: told, never taken for a shorter log. */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LogDirectory } from './log-directory';

const directory = '/data';
const config = { ...defaultTopicConfig, segmentBytes: 1024 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const replica = { topic: 'orders', topicId: ORDERS, partition: 0 };
const random = seededRandom(1);
let disk: SimulatedDisk;

const open = (): Promise<LogDirectory> =>
  LogDirectory.open({
    disk: disk.mount(),
    directory,
    brokerId: 1,
    clock: new SimulatedClock(),
    random,
    logger: silentLogger,
    configFor: () => config,
  });

const files = (): string[] => disk.list(`${directory}/orders-0`).filter((name) => /^\d/.test(name));
const remove = (name: string): void => disk.remove(`${directory}/orders-0/${name}`);

/** 40 records in several segments, on the device. */
async function written(ending: 'closed' | 'died'): Promise<void> {
  disk = new SimulatedDisk();
  const store = await open();
  const log = await store.create('orders', ORDERS, 0, config);
  const batch = makeBatch({ values: ['x'.repeat(100)] });
  for (let i = 0; i < 40; i += 1) log.appendAsLeader(Buffer.from(batch), { leaderEpoch: 0 });
  await log.flush();
  await log.storeLogStart(); // all checkpoints
  if (ending === 'closed') await store.close({ clean: true, brokerEpoch: 5 });
  else disk.crash({ loseUnsynced: false, random });
}

const isLog = (name: string): boolean => name.endsWith('.log');
const taken: [string, () => void][] = [
  ['the last segment', () => remove(files().filter(isLog).at(-1)!)],
  [
    'the last segment and all that lies beside it',
    () => {
      const last = files().filter(isLog).at(-1)!.slice(0, 20);
      files()
        .filter((name) => name.startsWith(last))
        .forEach(remove);
    },
  ],
  ['all segments', () => files().filter(isLog).forEach(remove)],
  ['all files but partition.metadata', () => files().forEach(remove)],
];

describe.each(['closed', 'died'] as const)('the broker %s', (ending) => {
  test.each(taken)(
    '%s: damaged, over restarts, until the loss is accepted',
    async (_what, take) => {
      await written(ending);
      take();
      for (let start = 0; start < 2; start += 1) {
        const store = await open();
        expect(store.get(ORDERS, 0)).toBeUndefined();
        expect(store.lost()).toMatchObject([{ topicId: ORDERS, damaged: true }]);
        expect(store.lost()[0]?.reason).toMatch(
          /the log ends at offset \d+, it was written up to 40$/,
        );
        await store.close({ clean: true, brokerEpoch: 5 });
      }
      const store = await open();
      const options = { config, endOffset: 0, highWatermark: 0, epoch: 3, stamped: false };
      const { log } = await store.repair(replica, options);
      expect(log.logEndOffset).toBe(40);
      await store.close({ clean: true, brokerEpoch: 5 });
      expect((await open()).get(ORDERS, 0)?.logEndOffset).toBe(40);
    },
  );
});

test('a topic that was deleted and created again inherits nothing, also where its creation fails', async () => {
  await written('died');
  const store = await open();
  await store.delete(ORDERS, 0);
  const id = 'againAAAAAAAAAAAAAAAAA';
  disk.failNext('rename', { path: 'recovery-point-offset-checkpoint' });
  await expect(store.create('orders', id, 0, config)).rejects.toThrow('injected');
  disk.crash({ loseUnsynced: false, random });
  const again = await open();
  expect(again.lost()).toEqual([]);
  await again.create('orders', id, 0, config);
  disk.crash({ loseUnsynced: false, random });
  expect((await open()).get(id, 0)?.logEndOffset).toBe(0);
});
