/**
 * Moves replicas, cancels that, shows how far it is; elects leaders. Through any broker. Called by the admin.
 * Progress is what the metadata show: the replicas that come and go, and the ISR.
 */
import type { TributaryError } from '@tributary/common';
import { validateTopicName, type Deadline } from '@tributary/common';
import { fromWireError, methods, type PartitionAnswer } from '@tributary/protocol';
import type { ClientContext, PartitionView, TopicView } from '../seams';
import { askAnyBroker } from './any-broker';
import { brokerTimeout } from './broker-timeout';
import type {
  ElectLeadersOptions,
  ListReassignmentsOptions,
  NamedPartition,
  OngoingReassignment,
  PartitionMove,
  PartitionResult,
} from './cluster-types';

export async function reassign(
  context: ClientContext,
  moves: readonly PartitionMove[],
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const reassignments = moves.map(({ topic, partition, replicas }) => {
    validateTopicName(topic);
    return { topic, partition, replicas: [...replicas] };
  });
  return send(context, reassignments, deadline);
}

/** @param partitions undefined: all that are being moved. */
export async function cancelReassignments(
  context: ClientContext,
  partitions: readonly NamedPartition[] | undefined,
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const named = partitions ?? (await ongoingReassignments(context, {}, deadline));
  if (named.length === 0) return [];
  const cancels = named.map(({ topic, partition }) => ({ topic, partition, cancel: true }));
  return send(context, cancels, deadline);
}

export async function ongoingReassignments(
  context: ClientContext,
  { topics }: ListReassignmentsOptions,
  deadline: Deadline,
): Promise<OngoingReassignment[]> {
  const views = topics
    ? await Promise.all(topics.map((topic) => freshTopic(context, topic, deadline)))
    : (await context.metadata.snapshot(deadline)).topics;
  return views.flatMap((view) => view.partitions.flatMap((partition) => moveOf(view, partition)));
}

export async function electLeaders(
  context: ClientContext,
  { kind, partitions = [] }: ElectLeadersOptions,
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const request = {
    kind:
      kind === 'unclean'
        ? ('ELECTION_KIND_UNCLEAN' as const)
        : ('ELECTION_KIND_PREFERRED' as const),
    partitions: partitions.map(({ topic, partition }) => ({ topic, partition })),
    timeoutMs: brokerTimeout(deadline),
  };
  const method = methods.admin.electLeaders;
  const answer = await askAnyBroker(context, method, request, deadline, 'repeatable');
  return answer.partitions.map(resultOf);
}

async function send(
  context: ClientContext,
  reassignments: { topic: string; partition: number; replicas?: number[]; cancel?: boolean }[],
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const request = { reassignments, timeoutMs: brokerTimeout(deadline) };
  const method = methods.admin.reassignPartitions;
  const answer = await askAnyBroker(context, method, request, deadline, 'repeatable');
  return answer.partitions.map(resultOf);
}

async function freshTopic(
  { metadata }: ClientContext,
  topic: string,
  deadline: Deadline,
): Promise<TopicView> {
  validateTopicName(topic);
  await metadata.refresh([topic], deadline);
  return metadata.topic(topic, deadline);
}

function moveOf({ topic, topicId }: TopicView, view: PartitionView): OngoingReassignment[] {
  const { partition, replicas, isr, addingReplicas = [], removingReplicas = [] } = view;
  if (addingReplicas.length + removingReplicas.length === 0) return [];
  return [
    {
      topic,
      topicId,
      partition,
      replicas: replicas.filter((id) => !removingReplicas.includes(id)),
      adding: addingReplicas.map((brokerId) => ({ brokerId, inSync: isr.includes(brokerId) })),
      removing: removingReplicas,
    },
  ];
}

function resultOf({ topic, topicId, partition, error }: PartitionAnswer): PartitionResult {
  const failed = error !== null && error.code !== 'NONE';
  const told: TributaryError | undefined = failed ? fromWireError(error) : undefined;
  return { topic, topicId, partition, error: told };
}
