/**
 * What must hold once a run has come to rest, inside of brokers and coordinator: what every broker knows is what the
 * coordinator holds (Z6), no change of an ISR is left unanswered (L4), nothing piles up (L6), and compaction has kept what
 * each key was set to last (C10). Called by SeedRun, at the end of each seed.
 */
import type { ReplicaManager } from '@tributary/broker';
import type { SimulatedCluster } from '@tributary/testkit';
import type { ClusterModel } from './cluster-model';
import { judgeKeys, lastOfKeys } from './compacted-keys';
import type { PartitionModel } from './partition-model';
import { logsOf } from './replica-logs';

/** Per broker and client: what runs for ever beats, looks and checks at intervals. Twice what a run at rest has. */
const MAX_TIMERS_PER_PROCESS = 16;
const MAX_WATCHES_PER_BROKER = 16;
/** Markers of what was asked for and not done yet. */
const ADMIN_NODES = ['/admin/delete_topics'];

export class QuietChecks {
  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly model: ClusterModel,
    private readonly managers: ReadonlyMap<number, ReplicaManager>,
  ) {}

  /** Z6: the image comes from the controller's memory. */
  differingImages(): string[] {
    const living = this.model.living();
    const names = new Set(living.map(({ topic }) => topic.topicId));
    const differing = this.cluster.brokerIds.flatMap((id) => {
      const image = this.managers.get(id)?.currentImage;
      if (!image) return [`broker ${id} has no image`];
      const left = image.topics().filter(({ topicId }) => !names.has(topicId));
      const unknown = left.map(({ topic, topicId }) => `broker ${id} knows ${topic} ${topicId}`);
      return [...unknown, ...living.flatMap((model) => this.differs(model, id))];
    });
    const nodes = ADMIN_NODES.flatMap((path) => this.cluster.ensemble.peek(path)?.names ?? []);
    return [...differing, ...nodes.map((name) => `${name} is left in the coordinator`)];
  }

  private differs({ name, topic, partition, stored }: PartitionModel, id: number): string[] {
    const known = this.managers.get(id)?.currentImage?.partition(topic.topicId, partition);
    const describe = (one?: { leader: number; leaderEpoch: number; isr: readonly number[] }) =>
      one ? `leader ${one.leader} in epoch ${one.leaderEpoch}, ISR ${sorted(one.isr)}` : 'nothing';
    const [said, truth] = [describe(known), describe(stored)];
    return said === truth ? [] : [`${name}: broker ${id} knows ${said}, stored is ${truth}`];
  }

  /** L4: KAFKA-2729, KAFKA-13091, KAFKA-14144. */
  pendingChanges(): string[] {
    return [...this.managers].flatMap(([id, manager]) =>
      [...manager['partitions'].values()].flatMap(({ name, state }) =>
        state.role === 'leader' && state.pending
          ? [`${name}: broker ${id} waits for ISR ${state.pending.isr.join()}`]
          : [],
      ),
    );
  }

  /** L6. @param processes that run: brokers and clients. */
  pilesUp(processes: number): string[] {
    const { clock, ensemble, brokerIds } = this.cluster;
    const found: string[] = [];
    if (clock.pendingTimers > processes * MAX_TIMERS_PER_PROCESS) {
      found.push(`${clock.pendingTimers} timers are armed in ${processes} processes`);
    }
    if (ensemble.watches > brokerIds.length * MAX_WATCHES_PER_BROKER) {
      found.push(`${ensemble.watches} watches are armed by ${brokerIds.length} brokers`);
    }
    return found;
  }

  /** C10: offsets stay, and the last record of each key. */
  judgeCompacted(): void {
    for (const model of this.model.living()) {
      if (!model.isCompacted) continue;
      const last = lastOfKeys(model.committed.marks);
      for (const [brokerId, log] of logsOf(this.cluster, model)) {
        judgeKeys(model, brokerId, { log, last });
      }
    }
  }
}

function sorted(isr: readonly number[]): string {
  return [...isr].sort((a, b) => a - b).join();
}
