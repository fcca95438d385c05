/**
 * The arithmetic of a leader's in-sync replicas: pure questions on a LeaderState.
 *
 * The maximal ISR is the committed one plus a pending one: a pending addition counts already, a pending removal counts
 * still, because either may be what the controller wrote. Whatever must hold for the true ISR is
 * computed over the maximal one. Called by `partition-step.ts` alone.
 */
import type { FollowerProgress, IsrMember, LeaderState } from './partition-state';

export function isInMaximalIsr(state: LeaderState, brokerId: number): boolean {
  return state.isr.includes(brokerId) || (state.pending?.isr.includes(brokerId) ?? false);
}

export function maximalIsrSize(state: LeaderState): number {
  const added = state.pending?.isr.filter((id) => !state.isr.includes(id)).length ?? 0;
  return state.isr.length + added;
}

export function isUnderMinIsr(state: LeaderState): boolean {
  return state.isr.length < state.settings.minInsyncReplicas;
}

/** How far the own log counts for the HW. Also of a leader that is its whole ISR: with `flush=sync` no further than the device. */
export function ownEnd({ logEndOffset, durableEndOffset, settings }: LeaderState): number {
  return settings.flush === 'sync' ? Math.min(durableEndOffset, logEndOffset) : logEndOffset;
}

/**
 * min over what counts of this replica, of the maximal ISR, and of whoever is caught up and about to join; frozen
 * while the ISR is smaller than min ISR (KAFKA-15583). Never goes back: after a change to `flush=sync`, or where
 * an earlier leader had committed what is not on the device here yet, it stays above the own end that counts.
 */
export function nextHighWatermark(state: LeaderState, now: number): number {
  if (isUnderMinIsr(state)) return state.highWatermark;
  let offset = ownEnd(state);
  for (const follower of state.followers) {
    if (isInMaximalIsr(state, follower.brokerId) || isAboutToJoin(state, follower, now)) {
      offset = Math.min(offset, follower.logEndOffset);
    }
  }
  return Math.max(offset, state.highWatermark);
}

/** A replica that may not join, or has gone, does not hold the HW back (KAFKA-15021). */
function isAboutToJoin(state: LeaderState, follower: FollowerProgress, now: number): boolean {
  return (
    follower.attached &&
    follower.logEndOffset >= 0 &&
    now - follower.caughtUpAt <= state.settings.replicaLagTimeMaxMs &&
    isEligible(state, follower)
  );
}

/** Live, not shutting down (KIP-841), and the same life that attached (KIP-903). */
function isEligible(state: LeaderState, follower: FollowerProgress): boolean {
  const view = state.brokers.get(follower.brokerId);
  return (
    view !== undefined &&
    view.eligible &&
    view.brokerEpoch === follower.brokerEpoch &&
    state.replicas.includes(follower.brokerId)
  );
}

/** The ISR with everybody who may join now; undefined: nobody. */
export function expandedIsr(state: LeaderState): number[] | undefined {
  const joining = state.followers.filter((follower) => mayJoin(state, follower));
  if (joining.length === 0) return undefined;
  return [...state.isr, ...joining.map((follower) => follower.brokerId)];
}

function mayJoin(state: LeaderState, follower: FollowerProgress): boolean {
  return (
    !state.isr.includes(follower.brokerId) &&
    follower.attached &&
    follower.acknowledged &&
    follower.logEndOffset >= state.highWatermark &&
    // By HW alone it could lack what an earlier leader had committed (KAFKA-7128).
    follower.logEndOffset >= state.epochStartOffset &&
    isEligible(state, follower)
  );
}

/** The ISR without those that lag; undefined: nobody lags. */
export function shrunkIsr(state: LeaderState, now: number): number[] | undefined {
  const lagging = state.followers.filter(
    (follower) => state.isr.includes(follower.brokerId) && isLagging(state, follower, now),
  );
  if (lagging.length === 0) return undefined;
  return state.isr.filter((id) => !lagging.some((follower) => follower.brokerId === id));
}

/** Of an idle topic nobody lags, however long ago the last mark was (KAFKA-7152). */
function isLagging(state: LeaderState, follower: FollowerProgress, now: number): boolean {
  return (
    follower.logEndOffset !== state.logEndOffset &&
    now - follower.caughtUpAt > state.settings.replicaLagTimeMaxMs
  );
}

/** With the broker epoch that makes each a member: that of its attach, else the one the image knows. */
export function isrMembers(state: LeaderState, isr: readonly number[]): IsrMember[] {
  return isr.map((brokerId) => {
    const attached = state.followers.find((follower) => follower.brokerId === brokerId);
    const known = state.brokers.get(brokerId)?.brokerEpoch ?? 0;
    const brokerEpoch = attached && attached.brokerEpoch >= 0 ? attached.brokerEpoch : known;
    return { brokerId, brokerEpoch };
  });
}
