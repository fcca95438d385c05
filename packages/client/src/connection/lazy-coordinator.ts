/**
 * The coordinator of a `zookeeper:` client, and the nouns on it: made at first use. Invariant: what is read goes
 * out only while a session is there, or fails naming the addresses; a client never writes the cluster's own
 * nodes. Called by ClusterAccess.
 */
import type { Clock, Deadline, Logger, Random } from '@tributary/common';
import {
  createBrokerRegistry,
  createClusterIdentity,
  createControllerElection,
  createGroupStore,
  createPartitionStateStore,
  createTopicStore,
  paths,
  type Coordinator,
  type GroupStore,
} from '@tributary/coordination';
import type { ClusterNouns } from '../metadata/coordinator-source';

export interface CoordinatorWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class LazyCoordinator {
  private coordinator: Coordinator | undefined;
  private made: ClusterNouns | undefined;
  private store: GroupStore | undefined;

  constructor(
    private readonly world: CoordinatorWorld,
    private readonly connect: () => Coordinator,
  ) {}

  /** Rejects with COORDINATOR_UNAVAILABLE when there is no session by the deadline. */
  async nouns(deadline: Deadline): Promise<ClusterNouns> {
    const coordinator = this.get();
    if (coordinator.status !== 'connected') {
      await deadline.race(coordinator.ready(deadline.remainingMs), 'connecting to ZooKeeper');
    }
    this.made ??= this.nounsOf(coordinator);
    return this.made;
  }

  groups(): GroupStore {
    const { clock, random, logger } = this.world;
    this.store ??= createGroupStore(this.get(), clock, random, logger);
    return this.store;
  }

  async close(timeoutMs: number): Promise<void> {
    await this.coordinator?.close(timeoutMs);
  }

  private get(): Coordinator {
    this.coordinator ??= this.connect();
    return this.coordinator;
  }

  private nounsOf(coordinator: Coordinator): ClusterNouns {
    const { clock, random, logger } = this.world;
    const identity = createClusterIdentity(coordinator, random);
    return {
      registry: createBrokerRegistry(coordinator, clock, logger),
      topics: createTopicStore(coordinator, clock, logger),
      states: createPartitionStateStore(coordinator),
      election: createControllerElection(coordinator, clock, random),
      clusterId: async () =>
        // Brokers make the id. A client that finds none looks at an empty chroot.
        (await coordinator.get(paths.clusterId)) ? identity.getOrCreate() : '',
    };
  }
}
