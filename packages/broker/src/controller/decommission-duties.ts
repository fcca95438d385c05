/**
 * Empties decommissioned brokers: moves their replicas to others, a bounded number at a time. Part of `step`.
 *
 * Nothing is remembered but the duty and the topics' nodes: what is still to be moved is derived anew at each look, so the
 * next controller goes on where this one stopped. One whose substitute went away gets another. A partition for
 * which no broker is left stays where it is until there is one. A broker is done when no assignment names it.
 */
import { seededRandom } from '@tributary/common';
import { placementBrokers, ReplicaLoad } from '../placement/replica-load';
import { beginReassignments, type WantedMove } from './begin-reassignments';
import type { ControllerDraft } from './controller-draft';
import {
  dutyOf,
  isEligible,
  prefersNotToLead,
  type PartitionEntry,
  type TopicState,
} from './controller-state';
import { isFinishing, moveOf } from './replica-move';

/** The ids of brokers that are to be emptied, registered or not. */
function leavingBrokers(draft: ControllerDraft): ReadonlySet<number> {
  const settings = [...draft.state.brokerSettings.values()];
  const leaving = settings.filter(({ duty }) => duty === 'decommissioned');
  return new Set(leaving.map(({ brokerId }) => brokerId));
}

export function pursueDecommissions(draft: ControllerDraft): void {
  cancelMoves(draft);
  const leaving = leavingBrokers(draft);
  if (leaving.size === 0) return;
  const due = partitionsOf(draft).filter(
    ({ topic, entry }) => !topic.update && isDue(draft, entry, leaving),
  );
  const begun = partitionsOf(draft).filter(({ entry }) => isUnderWay(draft, entry, leaving)).length;
  const room = draft.settings.maxMovesAtOnce - begun;
  if (due.length === 0 || room <= 0) return;
  const load = loadOf(draft);
  const moves: WantedMove[] = [];
  for (const { topic, partition, entry } of due) {
    if (moves.length >= room) break;
    const target = targetOf(draft, entry, leaving, load);
    if (target) moves.push({ topicId: topic.record.topicId, partition, target });
  }
  beginReassignments(draft, moves, `brokers ${[...leaving].join(', ')} are decommissioned`);
}

/** What is not done of the moves away from this broker is undone: it is in service again. */
export function stayInService(draft: ControllerDraft, brokerId: number): void {
  const { returning } = draft.state;
  draft.change({ returning: new Set(returning).add(brokerId) });
}

function cancelMoves(draft: ControllerDraft): void {
  const { returning } = draft.state;
  if (returning.size === 0 || draft.state.phase !== 'active') return;
  const moving = partitionsOf(draft).filter(({ entry }) => {
    const move = moveOf(entry);
    return move?.removing.some((id) => returning.has(id)) && !isFinishing(entry, move);
  });
  const now = moving.filter(({ topic }) => !topic.update);
  const moves = now.map(({ topic, partition }): WantedMove => {
    return { topicId: topic.record.topicId, partition, target: 'cancel' };
  });
  beginReassignments(draft, moves, `brokers ${[...returning].join(', ')} are in service again`);
  // The others are looked at again when their topics are written.
  if (now.length === moving.length) draft.change({ returning: new Set() });
}

interface Placed {
  readonly topic: TopicState;
  readonly partition: number;
  readonly entry: PartitionEntry;
}

function partitionsOf(draft: ControllerDraft): Placed[] {
  return [...draft.allTopics().values()].flatMap((topic) =>
    topic.deletion
      ? []
      : topic.partitions.map((entry, partition): Placed => ({ topic, partition, entry })),
  );
}

/** A move of somebody else's is left alone until it is done, unless it cannot be. */
function isDue(
  draft: ControllerDraft,
  entry: PartitionEntry,
  leaving: ReadonlySet<number>,
): boolean {
  const move = moveOf(entry);
  if (!move) return entry.replicas.some((id) => leaving.has(id));
  if (isFinishing(entry, move)) return false;
  const isHopeless = move.joining.some((id) => !draft.broker(id) || leaving.has(id));
  return isHopeless && entry.replicas.some((id) => leaving.has(id));
}

function isUnderWay(
  draft: ControllerDraft,
  entry: PartitionEntry,
  leaving: ReadonlySet<number>,
): boolean {
  const move = moveOf(entry);
  return (
    move !== undefined &&
    move.removing.some((id) => leaving.has(id)) &&
    !isDue(draft, entry, leaving)
  );
}

function loadOf(draft: ControllerDraft): ReplicaLoad {
  const ready = [...draft.allBrokers().values()].filter(isEligible);
  const registered = ready.map(({ registration }) => registration);
  const brokers = placementBrokers(registered, (brokerId) => dutyOf(draft.state, brokerId));
  // The same state decides the same, so that a step can be replayed.
  const load = new ReplicaLoad(brokers, seededRandom(draft.state.sequence));
  for (const { entry } of partitionsOf(draft)) load.count(moveOf(entry)?.target ?? entry.replicas);
  return load;
}

/** Each that goes is replaced where it stands; a drained substitute does not come first. undefined: too few brokers. */
function targetOf(
  draft: ControllerDraft,
  entry: PartitionEntry,
  leaving: ReadonlySet<number>,
  load: ReplicaLoad,
): number[] | undefined {
  const wanted = moveOf(entry)?.target ?? entry.replicas;
  const goes = (id: number): boolean =>
    leaving.has(id) || (!draft.broker(id) && entry.adding.includes(id));
  const staying = wanted.filter((id) => !goes(id));
  const chosen = [...staying];
  const target: number[] = [];
  for (const id of wanted) {
    const next = goes(id) ? load.next(chosen) : id;
    if (next === undefined) return undefined;
    if (goes(id)) chosen.push(next);
    target.push(next);
  }
  load.count(wanted, -1);
  load.count(target);
  const mayLead = target.filter((id) => !prefersNotToLead(draft.state, id));
  const first = mayLead.includes(target[0] ?? -1) ? target[0] : mayLead[0];
  return first === undefined ? target : [first, ...target.filter((id) => id !== first)];
}
