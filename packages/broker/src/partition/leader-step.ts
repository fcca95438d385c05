/**
 * What a leader does with each event. Every path ends in `settle`: first the HW, then, where nothing is in
 * flight, the question who may join the ISR. So no event can forget one of them (KAFKA-13091: also an ISR
 * change that was committed moves the HW).
 * Called by `partition-step.ts` alone.
 */
import {
  expandedIsr,
  isInMaximalIsr,
  isrMembers,
  nextHighWatermark,
  shrunkIsr,
} from './in-sync-replicas';
import type {
  EventOf,
  FollowerProgress,
  LeaderState,
  PartitionEffect,
  PartitionState,
  PendingIsr,
  Step,
} from './partition-state';

/** Between two tries of an ISR change whose outcome is not known. */
export const ALTER_RETRY_MS = 500;
/** How long a claim of a higher epoch stands unanswered, where no controller can be reached. */
export const DOUBT_MS = 1_000;
/** After the controller called a candidate ineligible. */
export const EXPAND_PAUSE_MS = 1_000;

const NOBODY_WAITS = -Infinity;

export function lead(before: PartitionState, event: EventOf<'lead'>, now: number): Step {
  const { brokerId, leaderEpoch, partitionEpoch, isr, replicas, logEndOffset } = event;
  const others = new Set([...replicas, ...isr].filter((id) => id !== brokerId));
  const state: LeaderState = {
    role: 'leader',
    brokerId,
    leaderEpoch,
    partitionEpoch,
    isr,
    replicas,
    logEndOffset,
    durableEndOffset: event.durableEndOffset,
    epochStartOffset: logEndOffset,
    highWatermark: Math.min(before.highWatermark, logEndOffset),
    pending: undefined,
    expandNotBefore: NOBODY_WAITS,
    nextRequestId: before.nextRequestId,
    followers: [...others].map((id) => unknownFollower(id, isr.includes(id) ? now : -Infinity)),
    brokers: event.brokers,
    settings: event.settings,
  };
  const effects: PartitionEffect[] =
    before.role === 'leader'
      ? [{ kind: 'leadershipEnded', reason: `leader epoch ${leaderEpoch} began` }]
      : [];
  return settle(state, now, effects);
}

/** A member of the ISR gets the lag time from now on to show itself. */
function unknownFollower(brokerId: number, caughtUpAt: number): FollowerProgress {
  return {
    brokerId,
    brokerEpoch: -1,
    attached: false,
    acknowledged: false,
    logEndOffset: -1,
    caughtUpAt,
  };
}

export function changedWhileLeading(
  state: LeaderState,
  event: EventOf<'changed'>,
  now: number,
): Step {
  return commitIsr(state, event, now);
}

export function altered(state: LeaderState, event: EventOf<'altered'>, now: number): Step {
  const answersPending = event.requestId === state.pending?.requestId;
  if (!answersPending || event.leaderEpoch !== state.leaderEpoch) return { state, effects: [] };
  // The same partition epoch: what we asked for stood there already.
  if (event.partitionEpoch < state.partitionEpoch) return { state, effects: [] };
  return commitIsr(state, event, now);
}

interface CommittedIsr {
  readonly partitionEpoch: number;
  readonly isr: readonly number[];
  readonly replicas?: readonly number[];
}

/** Any newer state ends what is pending: it was written, or it has lost its compare-and-set. */
function commitIsr(state: LeaderState, committed: CommittedIsr, now: number): Step {
  const replicas = committed.replicas ?? state.replicas;
  const { isr, partitionEpoch } = committed;
  const known = new Map(state.followers.map((follower) => [follower.brokerId, follower]));
  const others = new Set([...replicas, ...isr].filter((id) => id !== state.brokerId));
  const followers = [...others].map((id) => known.get(id) ?? unknownFollower(id, now));
  const next = { ...state, partitionEpoch, isr, replicas, followers, pending: undefined };
  const effects: PartitionEffect[] = sameMembers(isr, state.isr)
    ? []
    : [{ kind: 'isrChanged', isr, previous: state.isr }];
  return settle(next, now, effects);
}

export function alterFailed(state: LeaderState, event: EventOf<'alterFailed'>, now: number): Step {
  const { pending } = state;
  if (!pending || pending.requestId !== event.requestId) return { state, effects: [] };
  if (event.code === 'INELIGIBLE_REPLICA') {
    const expandNotBefore = now + EXPAND_PAUSE_MS;
    return settle({ ...state, pending: undefined, expandNotBefore }, now, []);
  }
  // Unknown outcome, or a state that we have not heard of yet: it stays pending, and the very same is asked
  // again, which the controller answers with success if it stands already (KAFKA-14144).
  return {
    state: { ...state, pending: { ...pending, retryAt: now + ALTER_RETRY_MS } },
    effects: [],
  };
}

export function clusterChanged(state: LeaderState, event: EventOf<'cluster'>, now: number): Step {
  const { brokers, settings } = event;
  return settle({ ...state, brokers, settings, expandNotBefore: NOBODY_WAITS }, now, []);
}

export function appended(state: LeaderState, event: EventOf<'appended'>, now: number): Step {
  return settle({ ...state, logEndOffset: event.logEndOffset }, now, []);
}

export function durable(state: LeaderState, event: EventOf<'durable'>, now: number): Step {
  return settle({ ...state, durableEndOffset: event.durableEndOffset }, now, []);
}

export function attached(state: LeaderState, event: EventOf<'attached'>): Step {
  const { brokerId, brokerEpoch } = event;
  // What it has is what it acknowledges from now on: an earlier life, or log, may have had more. One that is to be
  // refilled would hold the HW for the lag time, if it still passed for caught up.
  const caughtUpAt = isInMaximalIsr(state, brokerId) ? {} : { caughtUpAt: -Infinity };
  const fresh = { brokerEpoch, logEndOffset: -1, attached: true, acknowledged: false };
  const progress = { ...fresh, ...caughtUpAt };
  return { state: withFollower(state, brokerId, progress), effects: [] };
}

export function detached(state: LeaderState, event: EventOf<'detached'>): Step {
  const progress = { attached: false, acknowledged: false };
  return { state: withFollower(state, event.brokerId, progress), effects: [] };
}

export function acknowledged(
  state: LeaderState,
  event: EventOf<'acknowledged'>,
  now: number,
): Step {
  const { brokerId, logEndOffset, caughtUpAt } = event;
  const progress = {
    logEndOffset,
    acknowledged: true,
    ...(caughtUpAt === undefined ? {} : { caughtUpAt }),
  };
  return settle(withFollower(state, brokerId, progress), now, []);
}

export function ticked(state: LeaderState, now: number): Step {
  const { pending } = state;
  if (pending) {
    if (pending.retryAt === undefined || pending.retryAt > now) return settle(state, now, []);
    const asked = { ...state, pending: { ...pending, retryAt: undefined } };
    return settle(asked, now, [askFor(asked, pending)]);
  }
  const isr = shrunkIsr(state, now);
  return isr ? propose(state, isr, now, []) : settle(state, now, []);
}

/**
 * Asks the controller for the ISR as it is: nothing changes if this replica still leads, and the answer is
 * FENCED_LEADER_EPOCH if it does not.
 */
export function doubted(state: LeaderState, now: number): Step {
  const step = state.pending ? { state, effects: [] } : propose(state, state.isr, now, []);
  const { state: next, effects } = step;
  if (next.role !== 'leader' || !next.pending) return step;
  const { pending } = next;
  const doubtedAt = pending.doubtedAt ?? now;
  return { state: { ...next, pending: { ...pending, doubtedAt } }, effects };
}

/**
 * Does this answer end leadership? The controller knows a higher epoch; or it cannot be reached to confirm this one, which
 * somebody doubts: then the image that comes with the next control stream says whether this replica leads.
 */
export function endsLeadership(
  { pending }: LeaderState,
  event: EventOf<'alterFailed'>,
  now: number,
): string | undefined {
  if (event.requestId !== pending?.requestId) return undefined;
  if (event.code === 'FENCED_LEADER_EPOCH') return 'the controller knows a higher leader epoch';
  const isDoubted = pending.doubtedAt !== undefined && now - pending.doubtedAt >= DOUBT_MS;
  return isDoubted && event.code === 'UNAVAILABLE'
    ? 'a higher leader epoch was claimed, and no controller can be asked'
    : undefined;
}

function withFollower(
  state: LeaderState,
  brokerId: number,
  progress: Partial<FollowerProgress>,
): LeaderState {
  const followers = state.followers.map((follower) =>
    follower.brokerId === brokerId ? { ...follower, ...progress } : follower,
  );
  return { ...state, followers };
}

function settle(state: LeaderState, now: number, effects: readonly PartitionEffect[]): Step {
  const highWatermark = nextHighWatermark(state, now);
  const moved = highWatermark > state.highWatermark;
  const next = moved ? { ...state, highWatermark } : state;
  const all = moved ? [...effects, { kind: 'highWatermark' as const, highWatermark }] : effects;
  if (next.pending || now < next.expandNotBefore) return { state: next, effects: all };
  const isr = expandedIsr(next);
  return isr ? propose(next, isr, now, all) : { state: next, effects: all };
}

function propose(
  state: LeaderState,
  isr: readonly number[],
  now: number,
  effects: readonly PartitionEffect[],
): Step {
  const requestId = state.nextRequestId;
  const pending = { requestId, isr, members: isrMembers(state, isr), retryAt: undefined };
  const next = { ...state, pending, nextRequestId: requestId + 1 };
  return settle(next, now, [...effects, askFor(next, pending)]);
}

function askFor(state: LeaderState, pending: PendingIsr): PartitionEffect {
  return {
    kind: 'alterPartition',
    requestId: pending.requestId,
    leaderEpoch: state.leaderEpoch,
    partitionEpoch: state.partitionEpoch,
    members: pending.members,
  };
}

function sameMembers(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id));
}
