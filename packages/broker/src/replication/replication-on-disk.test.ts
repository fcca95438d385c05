import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { LogDirectory } from '@tributary/log';
import { decodeBatch, splitBatches } from '@tributary/record';
import { SimulatedClock, SimulatedDisk, SimulatedNetwork } from '@tributary/testkit';
import { endOfBatches } from '../partition/end-of-batches';
import { DataCluster, TOPIC_ID } from './data-cluster.fixture';

const IDS = [1, 2, 3];

/** Three data planes on real logs, on disks that can be crashed. */
async function world(): Promise<{
  clock: SimulatedClock;
  cluster: DataCluster;
  stores: Map<number, LogDirectory>;
  mount: (id: number) => Promise<void>;
  crashDisk: (id: number) => void;
  values: (id: number) => string[];
  produce: (id: number, value: string) => Promise<void>;
}> {
  const clock = new SimulatedClock();
  const random = seededRandom(11);
  const network = new SimulatedNetwork({ clock, random });
  const disks = new Map(IDS.map((id) => [id, new SimulatedDisk()]));
  const stores = new Map<number, LogDirectory>();
  const mount = async (id: number): Promise<void> => {
    const opened = LogDirectory.open({
      disk: disks.get(id)!.mount(),
      directory: '/data',
      brokerId: id,
      clusterId: 'cluster',
      clock,
      random,
      logger: silentLogger,
      configFor: () => ({ ...defaultTopicConfig, segmentBytes: 4_096, maxMessageBytes: 1_048_588 }),
    });
    stores.set(id, await clock.settleWithin(opened, 10_000));
  };
  const cluster = new DataCluster({
    clock,
    random,
    logger: silentLogger,
    transport: (machine) => network.transport(machine),
    crash: (machine) => network.crash(machine),
    store: (id) => stores.get(id)!,
  });
  for (const id of IDS) {
    await mount(id);
    await cluster.startBroker(id);
  }
  const content = (id: number): Buffer => {
    const log = stores.get(id)!.get(TOPIC_ID, 0)!;
    const parts: Buffer[] = [];
    for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
      // One read stays within a segment.
      parts.push(log.read(offset, 1e9, log.logEndOffset));
      offset = endOfBatches(parts.at(-1)!, offset);
    }
    return Buffer.concat(parts);
  };
  return {
    clock,
    cluster,
    stores,
    mount,
    crashDisk: (id) => disks.get(id)!.crash({ loseUnsynced: false, random }),
    values: (id) =>
      splitBatches(content(id))
        .flatMap((batch) => decodeBatch(batch))
        .map(({ value }) => value?.toString() ?? ''),
    produce: async (id, value) => {
      const result = await clock.settleWithin(cluster.produce(id, [value]), 20_000);
      if (result.error) throw new Error(`${result.error.code} ${result.error.message}`);
    },
  };
}

it('all brokers killed at once and started again: nothing acknowledged is lost, all logs are the same bytes', async () => {
  const w = await world();
  await w.clock.settleWithin(w.cluster.createTopic([[1, 2, 3]]), 10_000);
  const values = Array.from({ length: 40 }, (_, at) => `${at} ${'x'.repeat(300)}`);
  for (const value of values) await w.produce(1, value);
  for (const id of IDS) {
    w.cluster.crash(id);
    w.crashDisk(id);
  }
  for (const id of IDS) {
    await w.mount(id);
    await w.clock.settleWithin(w.cluster.startBroker(id), 10_000);
  }
  await w.clock.settleWithin(w.cluster.elect(2), 10_000);
  await w.produce(2, 'after');
  await w.clock.advance(2_000);
  for (const id of IDS) expect(w.values(id)).toEqual([...values, 'after']);
  await w.clock.settleWithin(w.cluster.close(), 10_000);
});

it('a returning leader cuts what it alone had, across segments, and becomes the same bytes', async () => {
  const w = await world();
  await w.clock.settleWithin(w.cluster.createTopic([[1, 2, 3]]), 10_000);
  await w.produce(1, 'a');
  w.cluster.crash(2);
  w.cluster.crash(3);
  for (const value of Array.from({ length: 30 }, (_, at) => `${at} ${'y'.repeat(400)}`)) {
    const write = w.cluster.produce(1, [value], { acks: 1 });
    await w.clock.settleWithin(write, 5_000);
  }
  w.cluster.crash(1);
  for (const id of [1, 2, 3]) w.crashDisk(id);
  for (const id of [2, 3]) {
    await w.mount(id);
    await w.clock.settleWithin(w.cluster.startBroker(id), 10_000);
  }
  await w.clock.settleWithin(w.cluster.elect(3, { isr: [2, 3] }), 10_000);
  await w.produce(3, 'b');
  await w.mount(1);
  await w.clock.settleWithin(w.cluster.startBroker(1), 10_000);
  await w.clock.runUntil(() => w.cluster.state().isr.length === 3, 10_000);
  for (const id of IDS) expect(w.values(id)).toEqual(['a', 'b']);
  await w.clock.settleWithin(w.cluster.close(), 10_000);
});
