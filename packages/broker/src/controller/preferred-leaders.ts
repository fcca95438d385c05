/**
 * Gives partitions back to their preferred leaders, the first replicas of their assignments, so that leaders are spread again
 * after a restart. Part of `step`.
 *
 * A preferred leader gets them only in sync (KAFKA-9866), ready, not drained, not on probation (suspicion-duties.ts), and
 * when it has been ready for at least one whole interval of the timer. A bounded lot goes at once. The timer runs only
 * while there is something to give back.
 */
import type { ControllerDraft } from './controller-draft';
import type { ControllerState, TopicState } from './controller-state';
import { ledBy } from './partition-decision';
import { PartitionSeats } from './partition-seats';
import { beginWrite, viewOf, type View } from './partition-view';
import { moveOf } from './replica-move';

/** Why the preferred leader cannot lead this partition; undefined: it can. */
export function preferredProblem(
  { brokers, drained }: Pick<View, 'brokers' | 'drained'>,
  topic: TopicState,
  partition: number,
): string | undefined {
  const entry = topic.partitions[partition];
  const preferred = entry?.replicas[0] ?? -1;
  if (!entry?.stored) return 'the partition is not created yet';
  if (!entry.stored.isr.includes(preferred)) return `broker ${preferred} is not in sync`;
  const seats = new PartitionSeats(topic, entry.stored, brokers);
  if (!seats.holds(preferred) || !seats.isReady(preferred))
    return `broker ${preferred} is not ready`;
  return drained.has(preferred) ? `broker ${preferred} is drained` : undefined;
}

/** Led by another than the preferred leader, which could lead now. */
export function isImbalanced(
  view: Pick<View, 'brokers' | 'drained'>,
  topic: TopicState,
  partition: number,
): boolean {
  const entry = topic.partitions[partition];
  if (!entry?.stored || entry.write || entry.isOrphan || topic.deletion) return false;
  if (entry.stored.leader < 0 || entry.stored.leader === entry.replicas[0]) return false;
  return moveOf(entry) === undefined && preferredProblem(view, topic, partition) === undefined;
}

export function awaitSteadiness(draft: ControllerDraft): void {
  const { preferredLeaderDelayMs: delayMs } = draft.settings;
  draft.effect({ type: 'set-timer', timer: 'preferred-leaders', delayMs });
}

/** An interval is over. */
export function onSteadinessTick(draft: ControllerDraft): void {
  draft.change({ steadinessTicks: draft.state.steadinessTicks + 1 });
  giveBack(draft);
}

/** As many as go at once; the rest soon, or when their brokers are steady. */
export function giveBack(draft: ControllerDraft): void {
  if (draft.state.phase !== 'active') return;
  const view = viewOf(draft);
  const { state } = draft;
  let left = draft.settings.maxPreferredMovesAtOnce;
  let isLotFull = false;
  let isAwaited = false;
  for (const topic of draft.allTopics().values()) {
    for (const [partition, entry] of topic.partitions.entries()) {
      if (!isImbalanced(view, topic, partition)) continue;
      const preferred = entry.replicas[0] ?? -1;
      isAwaited = true;
      if (!isSteady(state, preferred)) continue;
      if (left === 0) {
        isLotFull = true;
        break;
      }
      const context = { ...view, topic, partition, mayStartMove: false };
      const decision = ledBy(context, preferred, `broker ${preferred} is the preferred leader`);
      if (!decision) continue;
      left -= 1;
      beginWrite(draft, topic.record.topicId, partition, { ...decision, request: undefined });
    }
  }
  const { preferredLeaderPauseMs: delayMs } = draft.settings;
  if (isLotFull) draft.effect({ type: 'set-timer', timer: 'preferred-lot', delayMs });
  else if (isAwaited) awaitSteadiness(draft);
}

/** The interval in which it became ready does not count: it may have been about to end. */
function isSteady({ steadinessTicks, brokers }: ControllerState, brokerId: number): boolean {
  const { readyAtTick, onProbation } = brokers.get(brokerId) ?? {};
  return !onProbation && readyAtTick !== undefined && steadinessTicks - readyAtTick >= 2;
}
