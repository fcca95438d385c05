/**
 * The MetadataSource of `zookeeper:` clients: reads the znodes. Endpoints are those of the wanted listener,
 * else the first one of a broker. Read on demand; watched are only a few partitions that wait for a leader, while somebody
 * looks for it. Called by MetadataCache.
 */
import {
  partitionsByTopic,
  TributaryError,
  type Clock,
  type Deadline,
  type Timer,
} from '@tributary/common';
import type {
  BrokerRegistry,
  ControllerElection,
  PartitionStateStore,
  RegisteredBroker,
  TopicRecord,
  TopicStore,
  VersionedPartitionState,
  Watch,
} from '@tributary/coordination';
import type {
  AwaitedLeader,
  BrokerNode,
  ClusterSnapshot,
  MetadataSource,
  TopicView,
} from '../seams';

/** Topics whose znodes are read at the same time. */
export const MAX_PARALLEL_TOPIC_READS = 16;
/** Of the partitions that wait for a leader: a broker that dies leaves many, which get their next one in the same breath. */
export const MAX_WATCHED_PARTITIONS = 16;

/** What a client needs of the coordinator; made when it is first used. */
export interface ClusterNouns {
  readonly registry: BrokerRegistry;
  readonly topics: TopicStore;
  readonly states: PartitionStateStore;
  readonly election: ControllerElection;
  readonly clusterId: () => Promise<string>;
}

export interface CoordinatorSourceOptions {
  /** Name of the wanted listener. */
  readonly listener: string;
}

export class CoordinatorSource implements MetadataSource {
  private turn = 0;

  constructor(
    private readonly clock: Clock,
    private readonly nouns: (deadline: Deadline) => Promise<ClusterNouns>,
    private readonly options: CoordinatorSourceOptions,
  ) {}

  read(topics: readonly string[] | undefined, deadline: Deadline): Promise<ClusterSnapshot> {
    return deadline.race(this.readAll(topics, deadline), 'reading metadata from ZooKeeper');
  }

  async readNext(
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
    deadline: Deadline,
  ): Promise<ClusterSnapshot> {
    const nouns = await this.nouns(deadline);
    await deadline.race(this.nextLeader(nouns.states, awaited, maxWaitMs), 'waiting for a leader');
    const only = partitionsByTopic(awaited);
    const read = this.readAll([...only.keys()], deadline, only);
    return deadline.race(read, 'reading metadata from ZooKeeper');
  }

  async anyBroker(attempt: number, deadline: Deadline): Promise<BrokerNode> {
    const { registry } = await this.nouns(deadline);
    const list = await deadline.race(registry.list(), 'reading the brokers from ZooKeeper');
    if (attempt === 0) this.turn += 1;
    const chosen = list[(this.turn + attempt) % Math.max(1, list.length)];
    if (!chosen) {
      throw new TributaryError('UNAVAILABLE', 'no broker is registered in ZooKeeper', {
        hint: 'Start a broker, and check that the chroot in the connect string is right.',
        outcome: 'not written',
      });
    }
    return this.nodeOf(chosen);
  }

  async close(): Promise<void> {
    // The coordinator belongs to the client.
  }

  private async nextLeader(
    states: PartitionStateStore,
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
  ): Promise<void> {
    const watches: Watch[] = [];
    let timer: Timer | undefined;
    try {
      await new Promise<void>((resolve) => {
        timer = this.clock.setTimer(maxWaitMs, resolve);
        for (const { topic, partition, leaderEpoch } of awaited.slice(0, MAX_WATCHED_PARTITIONS)) {
          const watch = states.watch(topic, partition, (state) => {
            if (!state || (state.leader >= 0 && state.leaderEpoch > leaderEpoch)) resolve();
          });
          watches.push(watch);
        }
      });
    } finally {
      timer?.cancel();
      for (const watch of watches) watch.stop();
    }
  }

  /** @param only of a topic, these partitions alone. */
  private async readAll(
    topics: readonly string[] | undefined,
    deadline: Deadline,
    only?: ReadonlyMap<string, readonly number[]>,
  ): Promise<ClusterSnapshot> {
    const nouns = await this.nouns(deadline);
    const [registered, controller, clusterId, names] = await Promise.all([
      nouns.registry.list(),
      nouns.election.current(),
      nouns.clusterId(),
      topics ?? nouns.topics.names(),
    ]);
    // Asked for everything, nothing would look like a cluster without topics.
    if (topics === undefined && clusterId === '' && registered.length === 0) {
      throw new TributaryError('UNAVAILABLE', 'there is no cluster in ZooKeeper at this place', {
        hint: 'Check that the chroot in the connect string is right, and start a broker.',
        outcome: 'not written',
      });
    }
    const brokers = registered.map((broker) => this.nodeOf(broker));
    const byId = new Map(brokers.map((broker) => [broker.brokerId, broker]));
    const views: TopicView[] = [];
    for (let from = 0; from < names.length; from += MAX_PARALLEL_TOPIC_READS) {
      deadline.check('reading topics from ZooKeeper');
      const some = names.slice(from, from + MAX_PARALLEL_TOPIC_READS);
      const read = await Promise.all(
        some.map((name) => readTopic(nouns, name, byId, only?.get(name))),
      );
      for (const view of read) if (view) views.push(view);
    }
    return { clusterId, controllerId: controller?.brokerId, brokers, topics: views };
  }

  private nodeOf(broker: RegisteredBroker): BrokerNode {
    const endpoint =
      broker.endpoints.find(({ listener }) => listener === this.options.listener) ??
      broker.endpoints[0];
    if (!endpoint) {
      throw new TributaryError(
        'UNRESOLVABLE_ADDRESS',
        `broker ${broker.brokerId} is registered without an endpoint`,
        { hint: 'Set advertised.listeners on that broker.' },
      );
    }
    const { host, port } = endpoint;
    return { brokerId: broker.brokerId, brokerEpoch: broker.brokerEpoch, address: { host, port } };
  }
}

/** undefined: it does not exist. A state of another topic id is one that is being deleted: no leader. */
async function readTopic(
  nouns: ClusterNouns,
  topic: string,
  brokers: ReadonlyMap<number, BrokerNode>,
  only: readonly number[] | undefined,
): Promise<TopicView | undefined> {
  const [record, states] = await Promise.all([
    nouns.topics.get(topic),
    nouns.states.read(topic, only),
  ]);
  return record && viewOf(record, states, brokers);
}

function viewOf(
  record: TopicRecord,
  states: readonly VersionedPartitionState[],
  brokers: ReadonlyMap<number, BrokerNode>,
): TopicView {
  const { topic, topicId, configs } = record;
  const ours = states.filter((state) => state.topicId === topicId);
  const byPartition = new Map(ours.map((state) => [state.partition, state]));
  const partitions = record.assignment.map((replicas, partition) => {
    const state = byPartition.get(partition);
    const move = record.reassignments?.get(partition);
    return {
      partition,
      leader: state && state.leader >= 0 ? brokers.get(state.leader) : undefined,
      leaderEpoch: state?.leaderEpoch ?? -1,
      replicas,
      isr: state?.isr ?? [],
      eligibleLeaders: state?.eligibleLeaders ?? [],
      addingReplicas: move?.adding ?? [],
      removingReplicas: move?.removing ?? [],
    };
  });
  return { topic, topicId, partitions, configs };
}
