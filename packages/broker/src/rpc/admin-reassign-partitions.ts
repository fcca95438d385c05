/**
 * Admin.ReassignPartitions on any broker: moves replicas, or cancels that. Passed on to the controller; answered when it
 * is begun and this broker's image shows the replicas that come and go. Called through `adminHandlers`.
 */
import { TributaryError } from '@tributary/common';
import type {
  CallContext,
  PartitionState,
  Reassignment,
  ReassignPartitionsRequest,
  ReassignPartitionsResponseInput,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import {
  askController,
  commandDeadline,
  untilShown,
  type CommandOptions,
} from './admin-ask-controller';
import { checkPartitionNames, checkReplicas, invalid, topicIdIn } from './admin-checks';

export async function reassignPartitions(
  options: CommandOptions,
  request: ReassignPartitionsRequest,
  context: CallContext,
): Promise<ReassignPartitionsResponseInput> {
  check(request.reassignments);
  const deadline = commandDeadline(options, request.timeoutMs, context);
  const command = { reassignPartitions: request, command: 'reassignPartitions' } as const;
  const answer = (await askController(options, command, deadline)).reassignedPartitions;
  if (!answer) throw new TributaryError('INTERNAL', 'the controller answered something else');
  const begun = request.reassignments.filter((_, index) => !isRefused(answer.partitions[index]));
  const shows = (image: MetadataImage): boolean => begun.every((one) => showsMove(image, one));
  await untilShown(options, shows, deadline, 'the moves were begun');
  return answer;
}

interface Refusable {
  readonly error: { readonly code: string } | null;
}

export function isRefused(answer: Refusable | undefined): boolean {
  return answer?.error !== undefined && answer.error !== null && answer.error.code !== 'NONE';
}

function check(reassignments: readonly Reassignment[]): void {
  if (reassignments.length === 0) throw invalid('no partition to move is named');
  checkPartitionNames(reassignments);
  for (const { topic, partition, replicas, cancel } of reassignments) {
    const where = `partition ${partition} of topic ${topic}`;
    if (!cancel) checkReplicas(replicas, where);
    else if (replicas.length > 0) throw invalid(`${where}: a cancelled move has no replicas`);
  }
}

function showsMove(image: MetadataImage, wanted: Reassignment): boolean {
  const topicId = topicIdIn(image, wanted);
  const state = image.partition(topicId, wanted.partition);
  // Deleted meanwhile: nothing is left to wait for.
  if (!state) return image.topicById(topicId) === undefined;
  if (wanted.cancel) return state.addingReplicas.length + state.removingReplicas.length === 0;
  const target = targetOf(state);
  return (
    target.length === wanted.replicas.length && wanted.replicas.every((id) => target.includes(id))
  );
}

/** The replicas that there will be: of a move that waits for its turn, those that are added take no part yet. */
function targetOf({ replicas, addingReplicas, removingReplicas }: PartitionState): number[] {
  const all = new Set([...replicas, ...addingReplicas]);
  return [...all].filter((id) => !removingReplicas.includes(id));
}
