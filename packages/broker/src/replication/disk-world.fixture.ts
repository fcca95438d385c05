/**
 * Data planes on real logs, on disks that can be slow, killed, or lose their power. Called by the tests of this package
 * in which what lies on the disks matters.
 */
import { defaultTopicConfig, seededRandom, silentLogger, type Random } from '@tributary/common';
import { LogDirectory, type LogStore } from '@tributary/log';
import { decodeBatch, splitBatches } from '@tributary/record';
import { SimulatedClock, SimulatedDisk, SimulatedNetwork } from '@tributary/testkit';
import { endOfBatches } from '../partition/end-of-batches';
import { DataCluster, TOPIC_ID } from './data-cluster.fixture';
import type { DataLimits } from './data-limits';

export class DiskWorld {
  readonly clock = new SimulatedClock();
  readonly random: Random;
  readonly cluster: DataCluster;
  readonly network: SimulatedNetwork;
  readonly disks: ReadonlyMap<number, SimulatedDisk>;
  private readonly stores = new Map<number, LogDirectory>();

  private constructor(
    readonly ids: readonly number[],
    seed: number,
    limits: Partial<DataLimits>,
  ) {
    const { clock, stores } = this;
    const random = seededRandom(seed);
    this.random = random;
    const network = new SimulatedNetwork({ clock, random });
    this.network = network;
    this.disks = new Map(ids.map((id) => [id, new SimulatedDisk()]));
    this.cluster = new DataCluster(
      {
        clock,
        random,
        logger: silentLogger,
        transport: (machine) => network.transport(machine),
        crash: (machine) => network.crash(machine),
        store: (id) => stores.get(id) as LogStore,
      },
      limits,
    );
  }

  static async of(
    ids: readonly number[],
    { seed = 11, limits = {} }: { seed?: number; limits?: Partial<DataLimits> } = {},
  ): Promise<DiskWorld> {
    const world = new DiskWorld(ids, seed, limits);
    for (const id of ids) await world.start(id);
    return world;
  }

  /** What is on its disk is opened and recovered, and its broker runs. */
  async start(id: number): Promise<void> {
    const { clock, random } = this;
    const config = { ...defaultTopicConfig, segmentBytes: 4_096, maxMessageBytes: 1_048_588 };
    const opened = LogDirectory.open({
      disk: this.disk(id).mount(),
      directory: '/data',
      brokerId: id,
      clusterId: 'cluster',
      clock,
      random,
      logger: silentLogger,
      configFor: () => config,
    });
    this.stores.set(id, await clock.settleWithin(opened, 10_000));
    await this.within(this.cluster.startBroker(id));
  }

  /** The process dies at once; with `loseUnsynced` the machine loses its power. */
  crash(id: number, loseUnsynced = false): void {
    this.cluster.crash(id);
    this.disk(id).crash({ loseUnsynced, random: this.random });
  }

  storeOf(id: number): LogDirectory {
    return this.stores.get(id)!;
  }

  disk(id: number): SimulatedDisk {
    return this.disks.get(id)!;
  }

  /** Syncs of segments on this disk, of one partition or all, hang until the returned function is called. */
  holdSyncs(id: number, partition = ''): () => void {
    const held: (() => void)[] = [];
    const disk = this.disk(id);
    disk.syncTime = (path) => {
      if (!path.endsWith('.log') || !path.includes(partition)) return Promise.resolve();
      return new Promise((resolve) => void held.push(resolve));
    };
    return () => {
      disk.syncTime = () => Promise.resolve();
      for (const end of held.splice(0)) end();
    };
  }

  within<T>(work: Promise<T>, ms = 20_000): Promise<T> {
    return this.clock.settleWithin(work, ms);
  }

  /** Acknowledged, or it throws. */
  async produce(id: number, value: string, acks = -1): Promise<void> {
    const { error } = await this.within(this.cluster.produce(id, [value], { acks }));
    if (error) throw new Error(`${error.code} ${error.message}`);
  }

  /** Of all records in a broker's log of partition 0. */
  values(id: number): string[] {
    const log = this.stores.get(id)!.get(TOPIC_ID, 0)!;
    const values: string[] = [];
    for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
      // One read stays within a segment.
      const batches = log.read(offset, 1e9, log.logEndOffset);
      const records = splitBatches(batches).flatMap((batch) => decodeBatch(batch));
      values.push(...records.map(({ value }) => value?.toString() ?? ''));
      offset = endOfBatches(batches, offset);
    }
    return values;
  }

  isr(): number[] {
    return [...this.cluster.state().isr].sort();
  }

  close(): Promise<void> {
    return this.within(this.cluster.close(), 10_000);
  }
}
