/**
 * The MetadataSource of `brokers:` clients: asks any broker. Invariant: a read tries every known address, the
 * bootstrap ones included, before it gives up; it never hangs on one of them. Called by MetadataCache.
 */
import { backoffMs, sleep, TributaryError } from '@tributary/common';
import type { Clock, Deadline, Random } from '@tributary/common';
import {
  methods,
  type Address,
  type MetadataRequestInput,
  type MetadataResponse,
  type PartitionMetadata,
} from '@tributary/protocol';
import type {
  AwaitedLeader,
  BrokerConnections,
  BrokerNode,
  ClusterSnapshot,
  MetadataSource,
  PartitionView,
  TopicView,
} from '../seams';

/** One broker may take this long to answer before the next one is asked. */
export const METADATA_ATTEMPT_MS = 3_000;
/** Tours over all known addresses before a read gives up. */
export const METADATA_TOURS = 3;

/** Divisible by every small count of brokers. */
const ANY_TURN_SPREAD = 2_520;

export interface BrokerSourceOptions {
  readonly bootstrap: readonly Address[];
  /** undefined: the listener that a request comes in on. */
  readonly listener: string | undefined;
}

export class BrokerSource implements MetadataSource {
  private brokers: readonly BrokerNode[] = [];
  /** Among the candidates: who answered last, or comes after the one that did not. */
  private turn = 0;
  private doubted = false;
  /** Calls to any broker go round, from a start that is not the same for all clients: one broker's end is not all's. */
  private anyTurn: number;

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly connections: BrokerConnections,
    private readonly options: BrokerSourceOptions,
  ) {
    this.anyTurn = Math.floor(random.next() * ANY_TURN_SPREAD);
  }

  read(topics: readonly string[] | undefined, deadline: Deadline): Promise<ClusterSnapshot> {
    return this.tour(topics, {}, deadline);
  }

  readNext(
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
    deadline: Deadline,
  ): Promise<ClusterSnapshot> {
    const topics = [...new Set(awaited.map(({ topic }) => topic))];
    return this.tour(topics, { awaited: [...awaited], maxWaitMs }, deadline);
  }

  private async tour(
    topics: readonly string[] | undefined,
    wait: Pick<MetadataRequestInput, 'awaited' | 'maxWaitMs'>,
    deadline: Deadline,
  ): Promise<ClusterSnapshot> {
    if (this.doubted) this.turn += 1;
    this.doubted = false;
    const { listener = '' } = this.options;
    const asked = { topics: [...(topics ?? [])], allTopics: topics === undefined, listener };
    let failure: TributaryError | undefined;
    for (let tour = 0; tour < METADATA_TOURS; tour += 1) {
      const candidates = this.candidates();
      const first = this.turn;
      for (let step = 0; step < candidates.length; step += 1) {
        deadline.check('reading metadata');
        const broker = candidates[(first + step) % candidates.length] as BrokerNode;
        try {
          const response = await this.ask(broker, { ...wait, ...asked }, deadline);
          this.turn = first + step;
          return this.snapshotOf(response);
        } catch (thrown) {
          // Also for the next read: this one may have no time left to ask another.
          if (this.turn === first + step) this.turn += 1;
          failure = TributaryError.from(thrown);
          if (failure.code === 'CANCELLED' || failure.code === 'INVALID_ARGUMENT') throw failure;
        }
      }
      const waitMs = backoffMs(tour, this.random);
      if (tour + 1 === METADATA_TOURS || waitMs >= deadline.remainingMs) break;
      await sleep(this.clock, waitMs, deadline.signal);
    }
    throw this.unreachable(failure);
  }

  doubt(): void {
    this.doubted = true;
  }

  async anyBroker(attempt: number, deadline: Deadline): Promise<BrokerNode> {
    if (this.brokers.length === 0 || attempt >= this.brokers.length) {
      await this.read([], deadline);
    }
    if (attempt === 0) this.anyTurn += 1;
    const count = this.brokers.length;
    const chosen = count === 0 ? undefined : this.brokers[(this.anyTurn + attempt) % count];
    if (!chosen) throw this.unreachable(undefined);
    return chosen;
  }

  async close(): Promise<void> {
    // The connections belong to the client.
  }

  /** Those that the last answer named, then the bootstrap addresses. */
  private candidates(): BrokerNode[] {
    const known = new Set(this.brokers.map(({ address }) => `${address.host}:${address.port}`));
    const bootstrap = this.options.bootstrap
      .filter(({ host, port }) => !known.has(`${host}:${port}`))
      .map((address) => ({ brokerId: -1, brokerEpoch: 0, address }));
    return [...this.brokers, ...bootstrap];
  }

  private ask(
    broker: BrokerNode,
    request: MetadataRequestInput,
    deadline: Deadline,
  ): Promise<MetadataResponse> {
    return this.connections.to(broker).call(methods.broker.metadata, request, {
      timeoutMs: Math.max(1, Math.min(METADATA_ATTEMPT_MS, deadline.remainingMs)),
      ...(deadline.signal ? { signal: deadline.signal } : {}),
    });
  }

  private snapshotOf(response: MetadataResponse): ClusterSnapshot {
    const brokers = response.brokers.map(({ brokerId, brokerEpoch, host, port }) => ({
      brokerId,
      brokerEpoch,
      address: { host, port },
    }));
    if (brokers.length > 0) this.brokers = brokers;
    const byId = new Map(brokers.map((broker) => [broker.brokerId, broker]));
    const topics = response.topics
      .filter(({ error }) => !error || error.code === 'NONE')
      .map((topic): TopicView => {
        const partitions = topic.partitions.map((partition) => viewOf(partition, byId));
        partitions.sort((a, b) => a.partition - b.partition);
        return { topic: topic.topic, topicId: topic.topicId, partitions, configs: topic.configs };
      });
    const { clusterId, controllerId } = response;
    return {
      clusterId,
      controllerId: controllerId < 0 ? undefined : controllerId,
      brokers,
      topics,
    };
  }

  private unreachable(cause: TributaryError | undefined): TributaryError {
    const addresses = this.candidates().map(({ address }) => `${address.host}:${address.port}`);
    const why = cause ? `: ${cause.message}` : '';
    const message = `no broker answers at ${addresses.join(', ')}${why}`;
    if (cause?.code === 'UNRESOLVABLE_ADDRESS') {
      // BrokerConnections explains a name that a broker advertises; this one is where to look first, as it was given.
      if (cause.details?.brokerId !== undefined) return cause;
      const hint =
        'Correct the addresses that were given (brokers), or how this machine resolves names.';
      return new TributaryError(cause.code, message, { cause, hint, outcome: 'not written' });
    }
    return new TributaryError('UNAVAILABLE', message, { cause, outcome: 'not written' });
  }
}

function viewOf(
  partition: PartitionMetadata,
  brokers: ReadonlyMap<number, BrokerNode>,
): PartitionView {
  return {
    partition: partition.partition,
    leader: partition.leader < 0 ? undefined : brokers.get(partition.leader),
    leaderEpoch: partition.leaderEpoch,
    replicas: partition.replicas,
    isr: partition.isr,
    eligibleLeaders: partition.eligibleLeaders,
    offlineReplicas: partition.offlineReplicas,
    addingReplicas: partition.addingReplicas,
    removingReplicas: partition.removingReplicas,
  };
}
