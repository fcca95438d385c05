/**
 * The rules of a group member, pure: (state, event, moment) -> { state, effects }. No I/O, no clock.
 *
 * Invariants:
 * - a partition is consumed from its `take` to its `revoke` or `drop`, and never twice at once;
 * - a rebalance touches only slots whose partition is no longer assigned; the others go on undisturbed;
 * - after `lost` nothing of that membership is committed, released or claimed any more;
 * - at most one join, read or assignment is under way, and at most one claim or release per partition.
 * Driven by `member-driver.ts`; states and events are described in `member-state.ts`.
 */
import { partitionKey } from '@tributary/common';
import type { GroupPartition } from '@tributary/coordination';
import { MemberTurn } from './member-turn';
import { assignRanges, membersChanged, sameAssignment, subscribedTopics } from './range-assignor';
import type {
  MemberEvent,
  MemberOptions,
  MemberState,
  MembershipEvent,
  Moment,
  Slot,
  Step,
} from './member-state';

export function startMember(now: number): Step {
  const state: MemberState = {
    phase: 'joining',
    incarnation: 1,
    memberId: undefined,
    view: undefined,
    reading: 'no',
    readAt: now,
    joinAt: now,
    failures: 0,
    unassignedSince: undefined,
    assignNotBefore: now,
    checkTopicsAt: now,
    topicsChanged: false,
    leaveAsked: false,
    slots: new Map(),
  };
  return { state, effects: [{ type: 'join' }] };
}

export function stepMember(
  state: MemberState,
  event: MemberEvent,
  moment: Moment,
  options: MemberOptions,
): Step {
  const turn = new MemberTurn(state, moment, options);
  if ('incarnation' in event) {
    if (event.incarnation !== state.incarnation) return { state, effects: [] };
    onMembership(turn, event);
  } else {
    switch (event.type) {
      case 'tick':
        onTick(turn);
        break;
      case 'topicsChanged':
        turn.draft.topicsChanged = true;
        break;
      case 'close':
        onClose(turn);
        break;
      case 'closeExpired':
        onCloseExpired(turn);
        break;
    }
  }
  considerAssigning(turn);
  turn.leaveIfEmpty();
  return turn.finish();
}

/** When the next `tick` has something to do; undefined: not before another event. */
export function nextWakeAt(state: MemberState, options: MemberOptions): number | undefined {
  if (state.phase === 'lost') return state.joinAt;
  const times: number[] = [];
  for (const slot of state.slots.values()) if ('retryAt' in slot) times.push(slot.retryAt);
  const idle = state.reading === 'no';
  if (idle && isMember(state)) times.push(state.readAt);
  if (idle && state.phase === 'watching') {
    const due = assignmentDueAt(state, options);
    if (due !== undefined) times.push(Math.max(due, state.assignNotBefore));
  }
  return times.length > 0 ? Math.min(...times) : undefined;
}

function onMembership(turn: MemberTurn, event: MembershipEvent): void {
  switch (event.type) {
    case 'joined':
      return onJoined(turn, event.memberId);
    case 'joinFailed':
      return onJoinFailed(turn, event);
    case 'changed':
      return turn.requestRead();
    case 'viewRead':
      return onViewRead(turn, event);
    case 'readFailed':
      if (turn.draft.reading !== 'no') {
        turn.draft.reading = 'no';
        turn.draft.readAt = turn.failedOnce();
      }
      return;
    case 'topicsRead':
      return onTopicsRead(turn, event);
    case 'topicsFailed':
      return onAssignmentEnd(turn, 'failed');
    case 'assigned':
      return onAssignmentEnd(turn, 'done');
    case 'assignFailed':
      return onAssignmentEnd(turn, event.stale ? 'stale' : 'failed');
    case 'claimed':
    case 'claimFailed':
    case 'released':
    case 'releaseFailed':
    case 'fenced':
      return onSlot(turn, event);
    case 'lost':
      return onLost(turn);
    case 'left':
      if (turn.draft.phase === 'leaving') turn.become('left');
      return;
  }
}

function onJoined(turn: MemberTurn, memberId: string): void {
  const { draft } = turn;
  if (draft.memberId !== undefined) return;
  if (draft.phase === 'joining') {
    draft.memberId = memberId;
    draft.failures = 0;
    draft.phase = 'watching';
    turn.requestRead();
  } else if (draft.phase === 'leaving') {
    draft.memberId = memberId; // closed while it joined: `leaveIfEmpty` leaves at once
  }
}

function onJoinFailed(
  turn: MemberTurn,
  event: Extract<MembershipEvent, { type: 'joinFailed' }>,
): void {
  if (turn.draft.memberId !== undefined) return;
  if (turn.draft.phase === 'leaving') return turn.become('left');
  if (turn.draft.phase !== 'joining') return;
  if (event.error.retriable) return turn.loseMembership();
  turn.effects.push({ type: 'fail', error: event.error });
  turn.become('left');
}

function onViewRead(
  turn: MemberTurn,
  { view }: Extract<MembershipEvent, { type: 'viewRead' }>,
): void {
  const { draft } = turn;
  if (draft.reading === 'no') return;
  const again = draft.reading === 'again';
  draft.reading = 'no';
  if (!isMember(draft)) return;
  const sameGeneration = draft.view?.generation === view.generation;
  draft.view = view;
  draft.failures = 0;
  draft.readAt = turn.now + turn.options.checkTopicsMs;
  if (!membersChanged(view)) draft.unassignedSince = undefined;
  else if (draft.unassignedSince === undefined || !sameGeneration) draft.unassignedSince = turn.now;
  turn.reconcile();
  turn.retrySlots('news');
  if (again) turn.requestRead();
}

function onTopicsRead(
  turn: MemberTurn,
  { partitions }: Extract<MembershipEvent, { type: 'topicsRead' }>,
): void {
  const { draft } = turn;
  if (draft.phase !== 'assigning' || draft.view === undefined) return;
  const assignment = assignRanges(draft.view.members, partitions);
  if (!membersChanged(draft.view) && sameAssignment(assignment, draft.view.assignment)) {
    draft.phase = 'watching';
    return;
  }
  const expectedGeneration = draft.view.generation;
  turn.effects.push({ type: 'assign', expectedGeneration, assignment });
}

function onAssignmentEnd(turn: MemberTurn, outcome: 'done' | 'stale' | 'failed'): void {
  const { draft } = turn;
  if (draft.phase !== 'assigning') return;
  draft.phase = 'watching';
  if (outcome === 'failed') draft.assignNotBefore = turn.failedOnce();
  if (outcome === 'done') draft.failures = 0;
  turn.requestRead();
}

type SlotEvent = Extract<
  MembershipEvent,
  { type: 'claimed' | 'claimFailed' | 'released' | 'releaseFailed' | 'fenced' }
>;

function onSlot(turn: MemberTurn, event: SlotEvent): void {
  const { slots } = turn.draft;
  const { partition } = event;
  const key = partitionKey(partition.topicId, partition.partition);
  const slot = slots.get(key);
  switch (event.type) {
    case 'claimed':
      if (slot?.status !== 'claiming') return;
      return onClaimed(turn, key, event);
    case 'claimFailed':
      if (slot?.status !== 'claiming') return;
      slots.set(key, waiting(turn, partition, slot.attempt));
      if (event.reason === 'stale') turn.requestRead();
      break;
    case 'released':
      if (slot?.status === 'releasing') slots.delete(key);
      break;
    case 'releaseFailed':
      if (slot?.status !== 'releasing') return;
      if (event.fenced) slots.delete(key);
      else {
        const { ownerEpoch, attempt } = slot;
        const retryAt = turn.after(attempt);
        slots.set(key, {
          status: 'unreleased',
          partition,
          ownerEpoch,
          attempt: attempt + 1,
          retryAt,
        });
      }
      break;
    case 'fenced':
      if (slot?.status !== 'owned' || slot.ownerEpoch !== event.ownerEpoch) return;
      slots.delete(key);
      turn.effects.push({ type: 'drop', partitions: [partition] });
      turn.requestRead();
      break;
  }
  turn.reconcile();
}

function waiting(turn: MemberTurn, partition: GroupPartition, attempt: number): Slot {
  return { status: 'waiting', partition, attempt: attempt + 1, retryAt: turn.after(attempt) };
}

function onClaimed(
  turn: MemberTurn,
  key: string,
  { partition, ownership }: Extract<MembershipEvent, { type: 'claimed' }>,
): void {
  const { ownerEpoch } = ownership;
  if (turn.wanted().has(key)) {
    turn.draft.slots.set(key, { status: 'owned', partition, ownerEpoch });
    turn.effects.push({ type: 'take', partition, ownership });
  } else {
    turn.draft.slots.set(key, { status: 'releasing', partition, ownerEpoch, attempt: 0 });
    turn.effects.push({ type: 'release', partition, ownerEpoch });
  }
}

function onLost(turn: MemberTurn): void {
  const { phase, memberId } = turn.draft;
  if (memberId === undefined) return;
  if (phase === 'leaving') {
    turn.dropAll();
    turn.become('left');
  } else if (isMember(turn.draft)) {
    turn.loseMembership();
  }
}

function onTick(turn: MemberTurn): void {
  const { draft, now } = turn;
  if (draft.phase === 'lost' && now >= draft.joinAt) {
    draft.phase = 'joining';
    turn.effects.push({ type: 'join' });
    return;
  }
  if (isMember(draft) && draft.reading === 'no' && now >= draft.readAt) turn.requestRead();
  turn.retrySlots('due');
}

function onClose(turn: MemberTurn): void {
  const { draft } = turn;
  if (draft.phase === 'lost') return turn.become('left');
  if (draft.phase === 'joining' || isMember(draft)) {
    draft.phase = 'leaving';
    turn.reconcile();
  }
}

function onCloseExpired(turn: MemberTurn): void {
  const { draft } = turn;
  if (draft.phase === 'left') return;
  turn.dropAll();
  if (draft.memberId === undefined || draft.leaveAsked) turn.become('left');
  else draft.phase = 'leaving';
}

function considerAssigning(turn: MemberTurn): void {
  const { draft, now, options } = turn;
  if (draft.phase !== 'watching' || draft.reading !== 'no' || draft.view === undefined) return;
  const due = assignmentDueAt(draft, options);
  if (due === undefined || now < Math.max(due, draft.assignNotBefore)) return;
  draft.phase = 'assigning';
  draft.topicsChanged = false;
  draft.checkTopicsAt = now + options.checkTopicsMs;
  turn.effects.push({ type: 'readTopics', topics: subscribedTopics(draft.view) });
}

/** When this member should make (or check) an assignment; undefined: it is not its turn. */
function assignmentDueAt(state: MemberState, options: MemberOptions): number | undefined {
  const { view, memberId, unassignedSince } = state;
  const rank = view?.members.findIndex((member) => member.memberId === memberId) ?? -1;
  if (rank < 0) return undefined; // the view does not know us: a younger one must come, or `lost`
  if (state.topicsChanged) return 0;
  if (rank === 0) return unassignedSince === undefined ? state.checkTopicsAt : unassignedSince;
  return unassignedSince === undefined ? undefined : unassignedSince + options.rebalanceTimeoutMs;
}

function isMember(state: MemberState): boolean {
  return state.phase === 'watching' || state.phase === 'assigning';
}
