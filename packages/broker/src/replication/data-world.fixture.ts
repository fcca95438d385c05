/**
 * The simulated world of the data plane's component tests: clock, network, logs in memory, and a DataCluster on them.
 * Called by the tests of replication/ and rpc/.
 */
import { seededRandom, silentLogger } from '@tributary/common';
import { decodeBatch, splitBatches } from '@tributary/record';
import {
  MemoryLogStore,
  SimulatedClock,
  SimulatedNetwork,
  type MemoryLog,
} from '@tributary/testkit';
import { DataCluster, TOPIC_ID } from './data-cluster.fixture';
import type { DataLimits } from './data-limits';

export interface World {
  readonly clock: SimulatedClock;
  readonly network: SimulatedNetwork;
  readonly cluster: DataCluster;
  /** Who opened which stream where: `b2>b1 Replication/Follow`. */
  readonly dials: readonly string[];
  readonly stores: ReadonlyMap<number, MemoryLogStore>;
  log(id: number, partition?: number): MemoryLog;
  /** In a broker's log of partition 0. */
  values(id: number): string[];
  /** Sorted, as the controller has it. */
  isr(): number[];
  hw(id: number): number;
  /** Lets the work end, in simulated time. */
  within<T>(work: Promise<T>, ms?: number): Promise<T>;
  until(condition: () => boolean, ms?: number): Promise<void>;
  close(): Promise<void>;
}

export async function dataWorld(
  brokers: readonly number[],
  limits: Partial<DataLimits> = {},
): Promise<World> {
  const clock = new SimulatedClock();
  const random = seededRandom(7);
  const dials: string[] = [];
  const network = new SimulatedNetwork({
    clock,
    random,
    observe({ from, to, what }) {
      const dialled = /^dial .*v1\.(.*)$/.exec(what)?.[1];
      if (dialled) dials.push(`${from}>${to} ${dialled}`);
    },
  });
  const stores = new Map<number, MemoryLogStore>();
  const store = (id: number): MemoryLogStore => {
    const known = stores.get(id) ?? new MemoryLogStore();
    stores.set(id, known);
    return known;
  };
  const cluster = new DataCluster(
    {
      clock,
      random,
      logger: silentLogger,
      transport: (machine) => network.transport(machine),
      crash: (machine) => network.crash(machine),
      store,
    },
    limits,
  );
  for (const id of brokers) await cluster.startBroker(id);
  const log = (id: number, partition = 0): MemoryLog => {
    const found = stores.get(id)?.get(TOPIC_ID, partition);
    if (!found) throw new Error(`broker ${id} has no log`);
    return found;
  };
  const within = <T>(work: Promise<T>, ms = 60_000): Promise<T> => clock.settleWithin(work, ms);
  return {
    clock,
    network,
    cluster,
    dials,
    stores,
    log,
    within,
    values: (id) => valuesOf(log(id).content),
    isr: () => [...cluster.state().isr].sort(),
    hw: (id) => cluster.partition(id).state.highWatermark,
    async until(condition, ms = 60_000) {
      if (!(await clock.runUntil(condition, ms))) throw new Error('it did not come to that');
    },
    close: () => within(cluster.close(), 10_000),
  };
}

export function valuesOf(batches: Buffer): string[] {
  return splitBatches(batches)
    .flatMap((batch) => decodeBatch(batch))
    .map(({ value }) => value?.toString() ?? '');
}
