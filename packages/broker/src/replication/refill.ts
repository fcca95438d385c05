/**
 * When a damaged replica may begin anew, and when it is complete again. Pure.
 *
 * It may begin once the controller says three things in one state: it knows of this very incident, another broker leads,
 * and this one has no seat (ISR, eligible leaders). From then on no state can give it one before it says
 * that it is restored: so its old log, set aside, is not the last copy of anything that counts.
 *
 * It is complete once its log reaches what the leader had when the attach began, and the high watermark told last: in
 * particular everything that any leader may count it for. Called by role changes and by ReplicaManager.
 */
import type { PartitionState } from '@tributary/protocol';
import type { Outage } from './offline-replicas';

export function mayRefill(outage: Outage, state: PartitionState, brokerId: number): boolean {
  const { leader, isr, eligibleLeaders, offlineReplicas } = state;
  const isKnown = offlineReplicas.some(
    (known) => known.brokerId === brokerId && known.incident === outage.incident,
  );
  const hasSeat =
    leader === brokerId || isr.includes(brokerId) || eligibleLeaders.includes(brokerId);
  return outage.kind === 'damaged' && isKnown && leader >= 0 && !hasSeat;
}

/** What a leader says of itself on an attach, with each push and mark. */
export interface LeaderEnd {
  readonly attachId: number;
  readonly logEndOffset: number;
  readonly highWatermark: number;
}

export class CatchUp {
  private attachId = -1;
  private target = Infinity;

  /** @param ownEnd after what came with it was appended. True: complete. */
  heard(leader: LeaderEnd, ownEnd: number): boolean {
    if (leader.attachId !== this.attachId) {
      this.attachId = leader.attachId;
      this.target = leader.logEndOffset;
    }
    return ownEnd >= Math.max(this.target, leader.highWatermark);
  }
}
