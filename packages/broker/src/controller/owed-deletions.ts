/**
 * Replicas of topics that are gone, on brokers that were away when they went. Part of `step`.
 *
 * A broker that returns is told to delete them, by topic id, because the coordinator notes that this very id was deleted
 * and that this broker has not confirmed; without such a note what it has is a stray, which nobody deletes. The name may be
 * another topic's by then: its id is another, too. A note goes when the broker has confirmed, and when it is too old or there
 * are too many; from then on what lies there stays as a stray.
 */
import type { TributaryError } from '@tributary/common';
import type { AgedOwedDeletion, OwedDeletion } from '@tributary/coordination';
import type { StopResult } from '@tributary/protocol';
import { isLinked } from './broker-standing';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife, OwedSettlement } from './controller-event';
import type { OwedEntry } from './controller-state';

/** A topic on a broker is one. */
export const maxOwedDeletions = 1_000;
export const maxOwedDeletionAgeMs = 30 * 24 * 60 * 60 * 1000;

/** Above every leader epoch: nobody will lead that topic any more. */
const LAST_LEADER_EPOCH = 2 ** 31 - 1;

/** Once, when taking office; the oldest first. */
export function takeOwed(draft: ControllerDraft, read: readonly AgedOwedDeletion[]): void {
  for (const { ageMs, ...owed } of read) {
    addOwed(draft, [owed]);
    if (ageMs > maxOwedDeletionAgeMs) giveUp(draft, owed, 'it is too old');
  }
}

/** Noted in the coordinator. */
export function addOwed(draft: ControllerDraft, added: readonly OwedDeletion[]): void {
  for (const owed of added) {
    set(draft, { owed, waiting: new Set(owed.partitions), settling: false });
    tellOwed(draft, owed.brokerId);
  }
  const kept = [...draft.state.owedDeletions.values()].filter(({ settling }) => !settling);
  const tooMany = kept.slice(0, Math.max(0, kept.length - maxOwedDeletions));
  for (const { owed } of tooMany) giveUp(draft, owed, `more than ${maxOwedDeletions} are noted`);
}

/** Tells this broker again what it has not confirmed. */
export function tellOwed(draft: ControllerDraft, brokerId: number): void {
  const broker = draft.broker(brokerId);
  if (draft.state.phase !== 'active' || !broker || !isLinked(broker.standing)) return;
  const { brokerEpoch } = broker.registration;
  for (const { owed, waiting, settling } of draft.state.owedDeletions.values()) {
    if (owed.brokerId !== brokerId || settling) continue;
    const { topic, topicId } = owed;
    const of = { topic, topicId, leaderEpoch: LAST_LEADER_EPOCH, brokerEpoch, deleteData: true };
    for (const partition of waiting) draft.stopReplica(brokerId, { ...of, partition });
  }
}

export function onOwedStopped(
  draft: ControllerDraft,
  event: BrokerLife & { readonly results: readonly StopResult[] },
): void {
  if (!draft.brokerInLife(event)) return;
  for (const { topicId, partition, error } of event.results) {
    const entry = draft.state.owedDeletions.get(keyOf({ ...event, topicId }));
    if (!entry?.waiting.has(partition)) continue;
    if (error && error.code !== 'NONE') {
      const what = `not deleted on broker ${event.brokerId}, which was away`;
      draft.journal(`${entry.owed.topic}-${partition}`, what, error.message);
      continue;
    }
    const waiting = new Set(entry.waiting);
    waiting.delete(partition);
    set(draft, { ...entry, waiting });
    if (waiting.size > 0) continue;
    draft.journal(entry.owed.topic, `deleted on broker ${event.brokerId}`, 'it has returned');
    settle(draft, entry.owed);
  }
}

/** Asked again later, while any is left of a broker that is there; the note of one that is gone for good goes. */
export function pursueOwed(draft: ControllerDraft): void {
  if (draft.state.phase !== 'active') return;
  let isUnfinished = false;
  for (const { owed, waiting, settling } of draft.state.owedDeletions.values()) {
    if (settling) continue;
    if (waiting.size === 0) settle(draft, owed);
    else if (draft.broker(owed.brokerId)) isUnfinished = true;
  }
  if (!isUnfinished) return;
  const { deletionRetryMs: delayMs } = draft.settings;
  draft.effect({ type: 'set-timer', timer: 'deletion-retry', delayMs });
}

function onSettled(draft: ControllerDraft, owed: OwedDeletion): void {
  const owedDeletions = new Map(draft.state.owedDeletions);
  owedDeletions.delete(keyOf(owed));
  draft.change({ owedDeletions });
}

export function onOwedSettlement(draft: ControllerDraft, event: OwedSettlement): void {
  if (event.type === 'owed-settled') onSettled(draft, event.owed);
  else onFailed(draft, event.owed, event.error);
}

/** Not fatal: its note is still there, and is removed with the next retry. */
function onFailed(draft: ControllerDraft, owed: OwedDeletion, error: TributaryError): void {
  const entry = draft.state.owedDeletions.get(keyOf(owed));
  if (entry) set(draft, { ...entry, settling: false });
  draft.journal(owed.topic, 'the note of its deletion could not be removed', error.message);
}

function giveUp(draft: ControllerDraft, owed: OwedDeletion, why: string): void {
  const what = `what broker ${owed.brokerId} may still have of it stays as a stray`;
  draft.journal(owed.topic, what, why);
  settle(draft, owed);
}

function settle(draft: ControllerDraft, owed: OwedDeletion): void {
  const entry = draft.state.owedDeletions.get(keyOf(owed));
  if (entry) set(draft, { ...entry, settling: true });
  draft.effect({ type: 'settle-owed', owed });
}

function set(draft: ControllerDraft, entry: OwedEntry): void {
  const owedDeletions = new Map(draft.state.owedDeletions).set(keyOf(entry.owed), entry);
  draft.change({ owedDeletions });
}

function keyOf({ brokerId, topicId }: Pick<OwedDeletion, 'brokerId' | 'topicId'>): string {
  return `${brokerId}:${topicId}`;
}
