/**
 * The replicas of this broker that cannot serve, and why: the one place that tells the controller of them.
 *
 * ```
 *   well --damaged--> damaged --refill begins--> refilling --complete--> well
 *    |                   |  \--repaired, the loss accepted-------------->
 *    +----failed---------+------> failed (until the process starts again)
 * ```
 *
 * Invariant: from `report` to `restored` the controller counts the replica as offline, so it neither leads nor joins an
 * ISR; each report is a new incident, and what the controller answers to an older one permits nothing. Made by
 * ReplicaManager; called by role changes, refills, and the acceptance of a loss.
 */
import { partitionKey, partitionName, type Logger } from '@tributary/common';
import type { OfflineReplica, RestoredReplica } from '@tributary/protocol';
import type { PartitionAlterer } from '../seams';
import type { PartitionName } from './image-view';

/**
 * failed: the disk refused; whether what it reads back is what was written, nobody knows. damaged: bytes are
 * not what was written, or files are missing. refilling: follows the leader with a log begun anew.
 */
export type OutageKind = 'failed' | 'damaged' | 'refilling';

export interface Outage extends PartitionName {
  readonly kind: OutageKind;
  readonly reason: string;
  readonly incident: number;
}

/** Damages of one replica that are refilled in one life of the process; then its disk is suspect. */
export const REFILLS_MAX = 5;

export class OfflineReplicas {
  private readonly outages = new Map<string, Outage>();
  /** Were told to be offline in this registration. */
  private readonly over = new Map<string, RestoredReplica>();
  private readonly refills = new Map<string, number>();
  private incidents = 0;

  constructor(
    private readonly alterer: PartitionAlterer,
    private readonly logger: Logger,
  ) {}

  get(key: string): Outage | undefined {
    return this.outages.get(key);
  }

  all(): Outage[] {
    return [...this.outages.values()];
  }

  /** It cannot serve from now on. */
  report(replica: PartitionName, kind: 'failed' | 'damaged', reason: string): void {
    const { topic, topicId, partition } = replica;
    const key = partitionKey(topicId, partition);
    const before = this.outages.get(key);
    if (before?.kind === 'failed' || before?.kind === kind) return;
    const spent = kind === 'damaged' && (this.refills.get(key) ?? 0) >= REFILLS_MAX;
    if (spent) {
      const name = partitionName(topic, partition);
      this.logger.error('a replica was refilled again and again: its disk is suspect', { partition: name, reason }); // prettier-ignore
    }
    this.incidents += 1;
    const incident = this.incidents;
    const outage: Outage = {
      topic,
      topicId,
      partition,
      kind: spent ? 'failed' : kind,
      reason,
      incident,
    };
    this.outages.set(key, outage);
    this.over.delete(key);
    this.alterer.replicaFailed(wireOf(outage));
  }

  /** Its log has begun anew. */
  refilling(key: string): void {
    const outage = this.outages.get(key);
    if (outage?.kind !== 'damaged') return;
    this.outages.set(key, { ...outage, kind: 'refilling' });
    this.refills.set(key, (this.refills.get(key) ?? 0) + 1);
  }

  /** It is complete: refilled, or repaired with the loss accepted. */
  restored(key: string): void {
    const outage = this.outages.get(key);
    if (!outage || outage.kind === 'failed') return;
    const { topicId, partition, incident } = outage;
    this.outages.delete(key);
    const restored = { topicId, partition, incident };
    this.over.set(key, restored);
    this.alterer.replicaRestored(restored);
  }

  /** Its data are deleted, as the controller wants. */
  forget(key: string): void {
    this.outages.delete(key);
    this.over.delete(key);
    this.refills.delete(key);
  }

  /** To the controller all is new in another registration. */
  registered(): void {
    this.over.clear();
  }

  offline(): OfflineReplica[] {
    return this.all().map(wireOf);
  }

  restoredOnes(): RestoredReplica[] {
    return [...this.over.values()];
  }
}

function wireOf({ topicId, partition, reason, incident }: Outage): OfflineReplica {
  return { topicId, partition, reason, incident };
}
