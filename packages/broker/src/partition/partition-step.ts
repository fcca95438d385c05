/**
 * The core of a partition: (state, event, now) -> (state, effects). Pure and total: every event has an answer in every role.
 * Where a stale event can reach a replica that has moved on (an acknowledgement after leadership ended, a
 * late answer of the controller) it is dropped here, by role, epoch or request id; what cannot be (an append
 * on a follower) is an assertion. Called by `Partition`, which executes the effects in order.
 */
import { assert } from '@tributary/common';
import {
  acknowledged,
  alterFailed,
  altered,
  appended,
  attached,
  changedWhileLeading,
  clusterChanged,
  detached,
  doubted,
  durable,
  endsLeadership,
  lead,
  ticked,
} from './leader-step';
import type {
  EventOf,
  FollowerState,
  OfflineState,
  PartitionEvent,
  PartitionState,
  Step,
} from './partition-state';

export function step(state: PartitionState, event: PartitionEvent, now: number): Step {
  switch (event.kind) {
    case 'lead':
      return isNewer(state, event) && !isFailed(state) ? lead(state, event, now) : unchanged(state);
    case 'follow':
      return isNewer(state, event) && !isFailed(state) ? follow(state, event) : unchanged(state);
    case 'changed':
      return changed(state, event, now);
    case 'resign':
      return resign(state, event);
    case 'fail':
      return offline(state, { reason: event.reason, failed: true });
    case 'replicated':
      return replicated(state, event);
    case 'truncated':
      return truncated(state, event);
    case 'appended':
      assert(state.role === 'leader', `append while ${state.role}`);
      return appended(state, event, now);
    default:
      return state.role === 'leader' ? leaderEvent(state, event, now) : unchanged(state);
  }
}

function leaderEvent(
  state: Extract<PartitionState, { role: 'leader' }>,
  event: EventOf<
    | 'cluster'
    | 'durable'
    | 'attached'
    | 'detached'
    | 'acknowledged'
    | 'tick'
    | 'doubted'
    | 'altered'
    | 'alterFailed'
  >,
  now: number,
): Step {
  switch (event.kind) {
    case 'cluster':
      return clusterChanged(state, event, now);
    case 'durable':
      return durable(state, event, now);
    case 'attached':
      return attached(state, event);
    case 'detached':
      return detached(state, event);
    case 'acknowledged':
      return acknowledged(state, event, now);
    case 'tick':
      return ticked(state, now);
    case 'doubted':
      return doubted(state, now);
    case 'altered':
      return altered(state, event, now);
    case 'alterFailed': {
      const reason = endsLeadership(state, event, now);
      return reason ? resign(state, { kind: 'resign', reason }) : alterFailed(state, event, now);
    }
  }
}

export function unchanged(state: PartitionState): Step {
  return { state, effects: [] };
}

/** A higher leader epoch, or the same with a higher partition epoch (KAFKA-1188, KAFKA-9539). */
export function isNewer(
  state: PartitionState,
  news: { readonly leaderEpoch: number; readonly partitionEpoch: number },
): boolean {
  if (news.leaderEpoch !== state.leaderEpoch) return news.leaderEpoch > state.leaderEpoch;
  return news.partitionEpoch > state.partitionEpoch;
}

function isFailed(state: PartitionState): boolean {
  return state.role === 'offline' && state.failed;
}

function follow(state: PartitionState, event: EventOf<'follow'>): Step {
  const { leaderId, leaderEpoch, partitionEpoch } = event;
  const { highWatermark, logEndOffset, nextRequestId } = state;
  const next: FollowerState = {
    role: 'follower',
    leaderId,
    leaderEpoch,
    partitionEpoch,
    highWatermark,
    logEndOffset,
    nextRequestId,
  };
  return ended(state, next, `leader epoch ${leaderEpoch} belongs to broker ${leaderId}`);
}

function changed(state: PartitionState, event: EventOf<'changed'>, now: number): Step {
  if (event.leaderEpoch !== state.leaderEpoch || !isNewer(state, event)) return unchanged(state);
  switch (state.role) {
    case 'leader':
      return changedWhileLeading(state, event, now);
    case 'follower':
      return unchanged({ ...state, partitionEpoch: event.partitionEpoch });
    case 'offline':
      return unchanged(state);
  }
}

function resign(state: PartitionState, event: EventOf<'resign'>): Step {
  if (state.role === 'offline' && state.failed) return unchanged(state);
  const leaderEpoch = Math.max(state.leaderEpoch, event.shownEpoch ?? -1);
  const next = { ...state, leaderEpoch, partitionEpoch: -1 };
  return offline(next, { reason: event.reason, failed: false }, state);
}

/** @param before the state that ends, where `state` is a copy with other epochs. */
function offline(
  state: PartitionState,
  why: { readonly reason: string; readonly failed: boolean },
  before: PartitionState = state,
): Step {
  const { leaderEpoch, partitionEpoch, highWatermark, logEndOffset, nextRequestId } = state;
  const replica = { leaderEpoch, partitionEpoch, highWatermark, logEndOffset, nextRequestId };
  const next: OfflineState = { role: 'offline', ...why, ...replica };
  return ended(before, next, why.reason);
}

function ended(before: PartitionState, state: PartitionState, reason: string): Step {
  const effects = before.role === 'leader' ? [{ kind: 'leadershipEnded' as const, reason }] : [];
  return { state, effects };
}

/** The HW is the leader's as far as the own log reaches. What is committed stays so: it never goes back here. */
function replicated(state: PartitionState, event: EventOf<'replicated'>): Step {
  if (state.role !== 'follower') return unchanged(state);
  const { logEndOffset, leaderHighWatermark } = event;
  const highWatermark = Math.max(state.highWatermark, Math.min(leaderHighWatermark, logEndOffset));
  return unchanged({ ...state, logEndOffset, highWatermark });
}

/** A log that starts anew further on has everything below its start committed behind it (KAFKA-9491). */
function truncated(state: PartitionState, event: EventOf<'truncated'>): Step {
  if (state.role !== 'follower') return unchanged(state);
  const { logEndOffset, logStartOffset } = event;
  const highWatermark = Math.max(logStartOffset, Math.min(state.highWatermark, logEndOffset));
  return unchanged({ ...state, logEndOffset, highWatermark });
}
