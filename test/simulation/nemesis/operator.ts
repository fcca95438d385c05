/**
 * What a person does once everything is healed, where it is theirs to decide: a partition without a leader, one member of
 * which is damaged and the logs of the others in doubt (two crashes of a process in a row, see ADR 20), waits for them.
 * The nemesis has left a good copy among those that live, and the longest log has all that it has; so nothing
 * that is committed is lost, and the checkers go on to judge that. Called by SeedRun, at the end of each seed.
 */
import type { PartitionModel } from '../checker/partition-model';
import type { FaultWorld } from './fault-world';

/** So long it waits for the controller to find a leader by itself. */
const PATIENCE_MS = 8_000;
const TIMEOUT_MS = 5_000;

export class Operator {
  uncleanElections = 0;
  private readonly since = new Map<PartitionModel, number>();

  constructor(private readonly world: FaultWorld) {}

  care(): void {
    const { cluster, model } = this.world.parts;
    if (!cluster.brokerIds.every((id) => cluster.broker(id).ready)) return;
    for (const one of model.living()) {
      const now = cluster.clock.now();
      if (!this.isStuck(one)) this.since.delete(one);
      else if (!this.since.has(one)) this.since.set(one, now);
      if (now - (this.since.get(one) ?? now) < PATIENCE_MS) continue;
      this.since.delete(one);
      this.elect(one);
    }
  }

  private isStuck({ stored, topic, partition }: PartitionModel): boolean {
    if (!stored || stored.leader >= 0) return false;
    return [...stored.isr, ...stored.eligibleLeaders].some((id) =>
      this.world
        .broker(id)
        .status?.partitions.some(
          (one) =>
            one.topicId === topic.topicId &&
            one.partition === partition &&
            one.outage === 'damaged',
        ),
    );
  }

  private elect({ name, topic: { topic }, partition }: PartitionModel): void {
    const { cluster, admin } = this.world.parts;
    cluster.note(`a person lets the longest log of ${name} lead`);
    this.uncleanElections += 1;
    admin
      .admin()
      .electLeaders({ kind: 'unclean', partitions: [{ topic, partition }], timeoutMs: TIMEOUT_MS })
      .catch(() => undefined); // done anew after a while
  }
}
