import { seededRandom, silentLogger } from '@tributary/common';
import {
  createBrokerRegistry,
  createTopicStore,
  EmbeddedEnsemble,
  type BrokerRegistration,
  type Coordinator,
} from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { defaultControlLimits } from '../control-limits';
import { MetadataCache } from '../metadata/metadata-cache';
import { createTopic, type TopicAdminOptions } from './admin-create-topic';
import { deleteTopic } from './admin-delete-topic';

const context = { listener: 'inside', peer: 'client', signal: new AbortController().signal };
/** How far back a read answers is drawn. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const newTopic = {
  topic: 'orders',
  partitions: 1,
  replicationFactor: 3,
  configs: {},
  timeoutMs: 1_000,
};

/** Reads answer from the past as often as they can. */
async function staleWorld(seed: number): Promise<{
  connect: () => Promise<Coordinator>;
  adminOf: (coordinator: Coordinator) => TopicAdminOptions;
  clock: SimulatedClock;
}> {
  const clock = new SimulatedClock();
  const random = seededRandom(3);
  const faults = { random: seededRandom(seed), staleReads: 1 };
  const ensemble = new EmbeddedEnsemble({ clock, random, faults });
  const connect = async (): Promise<Coordinator> => {
    const coordinator = ensemble.connect({});
    await coordinator.ready(1_000);
    return coordinator;
  };
  const adminOf = (coordinator: Coordinator): TopicAdminOptions => ({
    registry: createBrokerRegistry(coordinator, clock, silentLogger),
    topics: createTopicStore(coordinator, clock, silentLogger),
    barrier: () => coordinator.barrier(),
    metadata: new MetadataCache(),
    clock,
    random,
    limits: defaultControlLimits,
  });
  return { connect, adminOf, clock };
}

function registration(brokerId: number): BrokerRegistration {
  const endpoints = [{ listener: 'inside', host: `host-${brokerId}`, port: 9292 }];
  return { brokerId, endpoints, rack: undefined, hostname: `host-${brokerId}` };
}

describe('topic administration on a coordinator that answers from the past', () => {
  it.each(seeds)('sees every broker registered before the call: seed %i', async (seed) => {
    const { connect, adminOf } = await staleWorld(seed);
    const admin = adminOf(await connect());
    for (const brokerId of [1, 2, 3]) {
      const { registry } = adminOf(await connect());
      await registry.register(registration(brokerId));
    }
    const request = { ...newTopic, validateOnly: true };
    expect(await createTopic(admin, request, context)).toMatchObject({ replicationFactor: 3 });
  });

  it.each(seeds)('sees a topic created before its deletion is asked for: seed %i', async (seed) => {
    const { connect, adminOf, clock } = await staleWorld(seed);
    const admin = adminOf(await connect());
    const { topics } = adminOf(await connect());
    await topics.create({ topic: 'orders', topicId: 'id-1', assignment: [[1]], configs: {} });
    const request = { topic: 'orders', topicId: '', timeoutMs: 1_000 };
    const deleting = deleteTopic(admin, request, context);
    // Nobody completes it here; that it was accepted is the point.
    await expect(clock.settleWithin(deleting, 2_000)).rejects.toThrow('was accepted');
  });
});
