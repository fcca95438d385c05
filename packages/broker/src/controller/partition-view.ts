/**
 * What decisions on partitions look at, gathered once for a pass over them, and how a write of what was decided begins.
 * Called by the duties that decide on partitions.
 */
import type { ControllerDraft } from './controller-draft';
import { prefersNotToLead, type BrokerState, type WriteInFlight } from './controller-state';
import { MoveBudget } from './move-duties';

export interface View {
  readonly brokers: ReadonlyMap<number, BrokerState>;
  readonly drained: ReadonlySet<number>;
  readonly controllerEpoch: number;
  readonly moves: MoveBudget;
}

export function viewOf(draft: ControllerDraft): View {
  const { state } = draft;
  const ids = [...state.brokerSettings.keys()];
  const drained = new Set(ids.filter((id) => prefersNotToLead(state, id)));
  const { brokers, controllerEpoch } = state;
  return { brokers, drained, controllerEpoch, moves: new MoveBudget(draft) };
}

/** No write for this partition may be in flight. */
export function beginWrite(
  draft: ControllerDraft,
  topicId: string,
  partition: number,
  write: WriteInFlight,
): void {
  const entry = draft.allTopics().get(topicId)?.partitions[partition];
  if (!entry) return;
  draft.setPartition(topicId, partition, { ...entry, write });
  const expectedPartitionEpoch = entry.stored?.partitionEpoch;
  draft.write({ topicId, state: write.state, expectedPartitionEpoch });
}
