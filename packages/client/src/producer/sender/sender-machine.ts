/**
 * The rules of sending to one partition, as a pure step. Invariants:
 * - batches go out in their order; after a failure nothing goes out until all in flight came home, so that
 *   nothing newer ever overtakes;
 * - a batch keeps its sequence from its first attempt until it is resolved; new numbers are given only to what
 *   was certainly never written, and only under a new identity;
 * - every batch gets exactly one fate, at its deadline at the latest.
 *
 * The drain before a new epoch is one of this partition alone: brokers fence per partition, so that others
 * may go on under the old epoch. Called by PartitionSender.
 */
import { assertNever, TributaryError } from '@tributary/common';
import { applyLoss, applyRefusal, giveUp } from './refusal-rules';
import { SenderDraft } from './sender-draft';
import {
  SEQUENCE_MODULUS,
  type BatchState,
  type KnownLeader,
  type NewBatch,
  type SenderEvent,
  type SenderState,
  type SenderStep,
  type Stamp,
} from './sender-state';

export function stepSender(state: SenderState, event: SenderEvent, now: number): SenderStep {
  const draft = new SenderDraft(state);
  if (state.ended) {
    if (event.type === 'added') draft.fail(newBatch(event.batch), state.ended);
    return draft.result();
  }
  apply(draft, event, now);
  advance(draft);
  return draft.result();
}

function apply(draft: SenderDraft, event: SenderEvent, now: number): void {
  switch (event.type) {
    case 'added':
      draft.patch({ batches: [...draft.state.batches, newBatch(event.batch)] });
      // It may have waited for room so long that it is over already.
      return event.batch.deadline <= now ? expire(draft, now) : undefined;
    case 'leaderFound': {
      if (draft.state.leader.kind !== 'asked') return;
      const { brokerId, leaderEpoch } = event;
      return draft.patch({ leader: { kind: 'known', brokerId, leaderEpoch } });
    }
    case 'leaderMissing':
      if (draft.state.leader.kind !== 'asked') return;
      draft.patch({ leader: { kind: 'unknown' } });
      return notFound(draft, event.error);
    case 'identityGranted':
      return granted(draft, event.producerId, event.producerEpoch);
    case 'identityMissing':
      if (draft.state.identity.kind !== 'asked') return;
      draft.patch({ identity: { ...draft.state.identity, kind: 'unknown' } });
      return notFound(draft, event.error);
    case 'written':
    case 'refused':
    case 'lost':
    case 'unsent':
      return cameHome(draft, event);
    case 'split':
      return replaceBySplit(draft, event.batchId, event.into);
    case 'pauseOver':
      if (draft.state.recovery === 'pausing') draft.patch({ recovery: 'none' });
      return;
    case 'tick':
      return expire(draft, now);
    case 'ended':
      for (const batch of draft.state.batches) draft.fail(batch, event.error);
      return draft.patch({ batches: [], ended: event.error });
    default:
      assertNever(event);
  }
}

function newBatch(batch: NewBatch): BatchState {
  return {
    ...batch,
    place: 'waiting',
    stamp: undefined,
    maybeWritten: false,
    abandoned: false,
    renewals: 0,
  };
}

/** Leader or identity could not be had. What can never be had fails what waits for it. */
function notFound(draft: SenderDraft, error: TributaryError): void {
  draft.recover(error);
  if (error.retriable) return;
  for (const batch of draft.state.batches) {
    if (batch.place === 'waiting') giveUp(draft, batch, error);
  }
}

function granted(draft: SenderDraft, producerId: number, producerEpoch: number): void {
  if (draft.state.identity.kind !== 'asked') return;
  draft.patch({
    identity: { kind: 'held', producerId, producerEpoch, nextSequence: 0 },
    batches: draft.state.batches.map((batch) => ({ ...batch, stamp: undefined })),
  });
}

function cameHome(
  draft: SenderDraft,
  event: Extract<SenderEvent, { batchId: number; type: 'written' | 'refused' | 'lost' | 'unsent' }>,
): void {
  const batch = draft.batch(event.batchId);
  if (!batch || batch.place !== 'in flight') return;
  switch (event.type) {
    case 'written': {
      const { baseOffset } = event;
      draft.remove(batch.id);
      draft.patch({ attempt: 0 });
      if (batch.abandoned) return;
      draft.effects.push({ type: 'delivered', batchId: batch.id, baseOffset });
      return;
    }
    case 'refused':
      return applyRefusal(draft, batch, event.error);
    case 'lost':
      return applyLoss(draft, { ...batch, place: 'waiting', maybeWritten: true }, event.error);
    case 'unsent':
      return applyLoss(draft, { ...batch, place: 'waiting' }, event.error);
    default:
      assertNever(event);
  }
}

/** The halves take over place and numbers: together they have as many records. */
function replaceBySplit(draft: SenderDraft, batchId: number, into: readonly NewBatch[]): void {
  const whole = draft.batch(batchId);
  if (!whole || whole.place !== 'splitting') return;
  let sequence = whole.stamp?.baseSequence ?? 0;
  const halves = into.map((half): BatchState => {
    const stamp = whole.stamp && { ...whole.stamp, baseSequence: sequence };
    sequence = (sequence + half.records) % SEQUENCE_MODULUS;
    return { ...newBatch(half), stamp, renewals: whole.renewals };
  });
  const batches = draft.state.batches.flatMap((batch) => (batch.id === batchId ? halves : [batch]));
  draft.patch({ batches });
}

function expire(draft: SenderDraft, now: number): void {
  for (const batch of draft.state.batches) {
    if (batch.deadline > now || batch.abandoned) continue;
    const error = expired(draft.state);
    if (batch.place === 'in flight') {
      // The caller is told; whether the sequence has a hole is known when the answer comes.
      draft.fail(batch, error);
      draft.patchBatch(batch.id, { abandoned: true });
    } else {
      giveUp(draft, batch, error);
    }
  }
}

function expired(state: SenderState): TributaryError {
  const { topic, partition, deliveryTimeoutMs } = state.settings;
  const last = state.lastError;
  const why = last ? `; the last attempt ended with ${last.code}: ${last.message}` : '';
  return new TributaryError(
    'TIMEOUT',
    `a batch for partition ${partition} of topic ${topic} was not delivered within ${deliveryTimeoutMs} ms${why}`,
    {
      ...{ cause: last, details: { topic, partition } },
      // What keeps it from being written, rather than the wait, is what can be mended.
      ...(last ? { hint: last.hint } : {}),
    },
  );
}

/** Whatever the state allows to begin now. */
function advance(draft: SenderDraft): void {
  const inFlight = draft.inFlight;
  if (draft.state.recovery === 'homing' && inFlight === 0) {
    const { hinted, attempt } = draft.state;
    if (!hinted) draft.effects.push({ type: 'pause', attempt: attempt - 1 });
    draft.patch({ recovery: hinted ? 'none' : 'pausing', hinted: false });
  }
  const { batches, recovery } = draft.state;
  if (batches.length === 0 || recovery !== 'none') return;
  renewIdentity(draft, inFlight);
  const { identity, leader } = draft.state;
  if (identity.kind === 'unknown') {
    draft.patch({ identity: { ...identity, kind: 'asked' } });
    draft.effects.push({ type: 'getIdentity', replaces: identity.replaces });
  }
  if (leader.kind === 'unknown') {
    draft.patch({ leader: { kind: 'asked' } });
    draft.effects.push({ type: 'findLeader' });
  }
  if (leader.kind === 'known') sendWaiting(draft, leader);
}

/** A spent identity is replaced once nothing depends on its numbers any more. */
function renewIdentity(draft: SenderDraft, inFlight: number): void {
  const { identity, batches } = draft.state;
  if (identity.kind !== 'spent' || inFlight > 0) return;
  if (batches.some((batch) => batch.maybeWritten)) return;
  const { producerId, producerEpoch, fresh } = identity;
  draft.patch({ identity: { kind: 'unknown', replaces: { producerId, producerEpoch, fresh } } });
}

function sendWaiting(draft: SenderDraft, leader: KnownLeader): void {
  const { maxInFlight } = draft.state.settings;
  let room = maxInFlight - draft.inFlight;
  for (const batch of draft.state.batches) {
    if (room <= 0 || batch.place === 'splitting') return;
    if (batch.place === 'in flight') continue;
    const { identity } = draft.state;
    if (identity.kind === 'unknown' || identity.kind === 'asked') return;
    // Under a spent identity only those go that may be in the log under these very numbers.
    if (identity.kind === 'spent' && !batch.maybeWritten) continue;
    const stamp = batch.stamp ?? nextStamp(draft, batch.records);
    draft.patchBatch(batch.id, { place: 'in flight', stamp });
    const { brokerId, leaderEpoch } = leader;
    draft.effects.push({ type: 'send', batchId: batch.id, stamp, brokerId, leaderEpoch });
    room -= 1;
  }
}

function nextStamp(draft: SenderDraft, records: number): Stamp | undefined {
  const { identity } = draft.state;
  if (identity.kind !== 'held') return undefined;
  const { producerId, producerEpoch, nextSequence } = identity;
  const following = (nextSequence + records) % SEQUENCE_MODULUS;
  draft.patch({ identity: { ...identity, nextSequence: following } });
  return { producerId, producerEpoch, baseSequence: nextSequence };
}
