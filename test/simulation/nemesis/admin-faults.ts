/**
 * What people change while things break: settings and partitions of topics, where replicas lie, who leads, which brokers are
 * in service. Each is a call to the admin, which may fail, or be done though nobody hears of it.
 */
import type { TributaryError } from '@tributary/common';
import type { PartitionModel } from '../checker/partition-model';
import { pick } from '../seed-plan';
import type { FaultInForce, FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

const TIMEOUT_MS = 6_000;
const MAX_PARTITIONS = 4;
/** Bytes of a segment: a compacted topic must have full ones soon, or there is nothing to compact. */
const SMALL = [1024, 2048, 4096];
const LARGE = [4096, 8192, 65536];
const DEFAULT = 'as it was started';
/** None so small that a run could not recover in its time. */
const brokerSettings: Readonly<Record<string, readonly string[]>> = {
  'replica.lag.time.max.ms': ['1000', '6000', DEFAULT],
  'replication.catch.up.bytes.per.second': ['20000', '200000', DEFAULT],
  'fetch.max.bytes': ['1024', '65536', DEFAULT],
};

export const adminFaults: readonly FaultKind[] = [
  {
    name: 'topic-altered',
    weight: 5,
    start(world) {
      const planned = pick(world.random, world.parts.plan.topics);
      const { rots } = world.parts.plan;
      const least = planned.flush === 'sync' && !rots ? 1 : 2;
      const minIsr = least + world.integer(planned.replicationFactor - least + 1);
      const setConfigs = {
        'min.insync.replicas': String(minIsr),
        'segment.bytes': String(pick(world.random, planned.keys > 0 ? SMALL : LARGE)),
      };
      const { topic } = planned;
      return called(world, `${topic} is altered: min ISR ${minIsr}`, (admin) =>
        admin.alterTopic(topic, { setConfigs }, { timeoutMs: TIMEOUT_MS }),
      );
    },
  },
  {
    name: 'broker-altered',
    weight: 3,
    start(world) {
      const broker = world.chance(0.5) ? 'all' : pick(world.random, world.cluster.brokerIds);
      const name = pick(world.random, Object.keys(brokerSettings));
      const value = pick(world.random, brokerSettings[name]!);
      const alteration = value === DEFAULT ? { removeConfigs: [name] } : { setConfigs: { [name]: value } }; // prettier-ignore
      return called(world, `${name} of broker ${broker}: ${value}`, (admin) =>
        admin.alterBroker(broker, alteration, { timeoutMs: TIMEOUT_MS }),
      );
    },
  },
  {
    name: 'partitions-added',
    weight: 2,
    start(world) {
      const load = pick(world.random, world.parts.load);
      if (load.partitions >= MAX_PARTITIONS || load.keys > 0) return undefined;
      const partitions = load.partitions + 1;
      return called(world, `${load.topic} gets partition ${partitions - 1}`, async (admin) => {
        await admin.alterTopic(load.topic, { partitions }, { timeoutMs: TIMEOUT_MS });
        load.partitions = Math.max(load.partitions, partitions);
      });
    },
  },
  {
    name: 'reassignment',
    weight: 8,
    start(world) {
      const model = somePartition(world);
      if (!model) return undefined;
      const replicas = newReplicas(world, model);
      const { topic } = model.topic;
      const moves = [{ topic, partition: model.partition, replicas }];
      return called(world, `${model.name} moves to ${replicas.join()}`, (admin) =>
        admin.reassignPartitions(moves, { timeoutMs: TIMEOUT_MS }),
      );
    },
  },
  {
    name: 'reassignment-cancelled',
    weight: 2,
    start: (world) =>
      called(world, 'moves of replicas are cancelled', (admin) =>
        admin.cancelReassignments(undefined, { timeoutMs: TIMEOUT_MS }),
      ),
  },
  {
    name: 'preferred-election',
    weight: 4,
    start: (world) =>
      called(world, 'preferred leaders are elected', (admin) =>
        admin.electLeaders({ kind: 'preferred', timeoutMs: TIMEOUT_MS }),
      ),
  },
  {
    name: 'broker-drained',
    weight: 4,
    start(world) {
      const brokerId = pick(world.random, world.cluster.brokerIds);
      const canMove = world.cluster.brokerIds.length > 3;
      const isForGood = canMove && world.chance(0.3);
      const what = isForGood ? 'decommissioned' : 'drained';
      const fault = called(world, `broker ${brokerId} is ${what}`, (admin) =>
        isForGood
          ? admin.decommissionBroker(brokerId, { timeoutMs: TIMEOUT_MS })
          : admin.drainBroker(brokerId, { timeoutMs: TIMEOUT_MS }),
      );
      const end = (): void =>
        void called(world, `broker ${brokerId} returns`, (admin) =>
          admin.returnBroker(brokerId, { timeoutMs: TIMEOUT_MS }),
        );
      return { ...fault, lastsMs: world.between(500, 5_000), end };
    },
  },
];

type Admin = ReturnType<FaultWorld['parts']['admin']['admin']>;

function called(
  world: FaultWorld,
  text: string,
  call: (admin: Admin) => Promise<unknown>,
): FaultInForce {
  const { cluster } = world;
  call(world.parts.admin.admin()).then(
    () => cluster.note(`DONE ${text}`),
    (thrown: unknown) => cluster.note(`FAILED ${text}: ${(thrown as TributaryError).message}`),
  );
  return { text };
}

function somePartition(world: FaultWorld): PartitionModel | undefined {
  const living = world.parts.model.living();
  return living.length > 0 ? pick(world.random, living) : undefined;
}

/** As many as before, or one more, in any order: where there are no spare brokers only the order changes. */
function newReplicas(world: FaultWorld, { topic, partition }: PartitionModel): number[] {
  const brokers = [...world.cluster.brokerIds];
  const before = topic.assignment[partition]?.length ?? 3;
  const count = Math.min(brokers.length, 3, Math.max(2, before + (world.chance(0.2) ? 1 : 0)));
  return Array.from({ length: count }, () => brokers.splice(world.integer(brokers.length), 1)[0]!);
}
