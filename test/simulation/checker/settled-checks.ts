/**
 * What must hold once every fault is healed and time has passed: L1, L5, and R1 and R6 over all bytes of all
 * replicas. Called by SeedRun, at the end of each seed.
 */
import type { PartitionLog } from '@tributary/log';
import { splitBatches } from '@tributary/record';
import type { SimulatedCluster } from '@tributary/testkit';
import type { ClusterModel } from './cluster-model';
import { markOf } from './marked-log';
import type { PartitionModel } from './partition-model';
import { bytesOf, logsOf } from './replica-logs';
import type { Violations } from './violations';

export class SettledChecks {
  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly model: ClusterModel,
    private readonly violations: Violations,
  ) {}

  /** L1: what is missing until everybody is in sync; empty: nothing. */
  notInSync(): string[] {
    const notReady = this.cluster.brokerIds.filter((id) => !this.cluster.broker(id).ready);
    if (notReady.length > 0) return [`brokers ${notReady.join()} are not ready`];
    return this.model.living().flatMap(({ name, stored, topic, partition }) => {
      const assigned = topic.assignment[partition]?.length ?? 0;
      if (stored && stored.leader >= 0 && stored.isr.length === assigned) return [];
      return [`${name}: leader ${stored?.leader}, ISR ${stored?.isr.join()} of ${assigned}`];
    });
  }

  /** All replicas have all of it, and know that it is committed. */
  notCommitted(): string[] {
    const states = this.cluster.brokerIds.flatMap((id) =>
      (this.cluster.broker(id).status?.partitions ?? []).map((one) => ({ ...one, id })),
    );
    return this.model.living().flatMap(({ name, topic, partition, trueHighWatermark }) =>
      (topic.assignment[partition] ?? []).flatMap((id) => {
        const found = states.find(
          (one) => one.id === id && one.topicId === topic.topicId && one.partition === partition,
        );
        const { highWatermark, logEndOffset } = found ?? {};
        if (highWatermark === trueHighWatermark && logEndOffset === highWatermark) return [];
        const truth = `true HW ${trueHighWatermark}`;
        return [`${name} at ${id}: HW ${highWatermark}, LEO ${logEndOffset}, ${truth}`];
      }),
    );
  }

  /** L5: a deletion that was asked for is over. */
  notDeleted(): string[] {
    const unfinished = [...this.model.topics.values()].filter(({ dying, gone }) => dying && !gone);
    const marked = this.cluster.ensemble.peek('/admin/delete_topics')?.names ?? [];
    return [...unfinished.map(({ topic, topicId }) => `${topic} ${topicId}`), ...marked];
  }

  /** L5: replicas that are moved have arrived, and what they left behind is deleted, as all brokers are there. */
  notMoved(): string[] {
    return this.model.living().flatMap(({ name, topic, partition }) => {
      const [adding = [], removing = []] = [topic.adding[partition], topic.removing[partition]];
      const owed = topic.owed[partition] ?? [];
      if (adding.length + removing.length + owed.length === 0) return [];
      const moving = `adding ${adding.join()}, removing ${removing.join()}`;
      return [`${name}: ${moving}, owed by ${owed.join()}`];
    });
  }

  judgeBytes(): void {
    for (const model of this.model.living()) {
      const logs = logsOf(this.cluster, model);
      for (const [brokerId, log] of logs) this.judgeEpochs(model, brokerId, log);
      if (!model.isCompacted) this.judgeSame(model, logs);
    }
  }

  private judgeSame(model: PartitionModel, logs: readonly [number, PartitionLog][]): void {
    const [first, ...others] = logs;
    if (!first) return;
    const truth = bytesOf(first[1]);
    for (const [brokerId, log] of others) {
      if (bytesOf(log).equals(truth)) continue;
      model.report('R1', `the bytes of brokers ${first[0]} and ${brokerId} differ`);
    }
  }

  /** R6: what the epoch cache says is what a scan of the log finds. */
  private judgeEpochs(model: PartitionModel, brokerId: number, log: PartitionLog): void {
    const batches = splitBatches(bytesOf(log)).map(markOf);
    batches.forEach((mark, at) => {
      const next = batches[at + 1];
      if (next?.epoch === mark.epoch) return;
      const found = log.epochEnd(mark.epoch);
      const end = next?.baseOffset ?? log.logEndOffset;
      const fits =
        found?.epoch === mark.epoch && found.endOffset > mark.lastOffset && found.endOffset <= end;
      if (fits) return;
      const said = found ? `epoch ${found.epoch} until ${found.endOffset}` : 'nothing';
      model.report(
        'R6',
        `broker ${brokerId}: its log has epoch ${mark.epoch} until ${mark.lastOffset}, its cache says ${said}`,
      );
    });
  }
}
