/**
 * Moves replicas, cancels that, shows how far it is; elects leaders. Through any broker. Called by the admin.
 * The metadata show what is moved: the replicas that come and go, and the ISR; how far each one is, its leader tells.
 */
import {
  backoffMs,
  sleep,
  validateTopicName,
  type Deadline,
  type TributaryError,
} from '@tributary/common';
import { fromWireError, methods, type PartitionAnswer } from '@tributary/protocol';
import type { ClientContext, PartitionView, TopicView } from '../seams';
import { askAnyBroker } from './any-broker';
import { brokerTimeout } from './broker-timeout';
import type {
  AddedReplica,
  ElectLeadersOptions,
  ListReassignmentsOptions,
  NamedPartition,
  OngoingReassignment,
  PartitionMove,
  PartitionResult,
} from './cluster-types';
import { lookUpProgress, type Progress, type ProgressOf } from './replica-progress';

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
  const named = partitions ?? (await ongoingReassignments(context, { progress: false }, deadline));
  if (named.length === 0) return [];
  const cancels = named.map(({ topic, partition }) => ({ topic, partition, cancel: true }));
  return send(context, cancels, deadline);
}

export async function ongoingReassignments(
  context: ClientContext,
  { topics, progress = true }: ListReassignmentsOptions,
  deadline: Deadline,
): Promise<OngoingReassignment[]> {
  const views = topics
    ? await Promise.all(topics.map((topic) => freshTopic(context, topic, deadline)))
    : (await context.metadata.snapshot(deadline)).topics;
  const moves = views.flatMap((view) =>
    view.partitions.flatMap((partition) => moveOf(view, partition)),
  );
  if (!progress) return moves.map((move) => withProgress(move, () => notAsked));
  const progresses = await lookUpProgress(context, moves, deadline);
  return moves.map((move, index) => withProgress(move, progresses[index] ?? (() => notAsked)));
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

interface WireMove {
  readonly topic: string;
  readonly partition: number;
  readonly replicas?: number[];
  readonly cancel?: boolean;
}

/** What is refused for now only, as while the deletions of the last move are not over, is asked for again until the deadline. */
async function send(
  context: ClientContext,
  moves: readonly WireMove[],
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const results: PartitionResult[] = [];
  let left = moves.map((_, index) => index);
  for (let attempt = 0; ; attempt += 1) {
    const answers = await ask(context, left.map((index) => moves[index]!), deadline); // prettier-ignore
    answers.forEach((answer, at) => (results[left[at]!] = answer));
    left = left.filter((_, at) => answers[at]?.error?.retriable);
    const waitMs = backoffMs(attempt, context.random);
    if (left.length === 0 || waitMs >= deadline.remainingMs) return results;
    await sleep(context.clock, waitMs, deadline.signal);
  }
}

async function ask(
  context: ClientContext,
  moves: readonly WireMove[],
  deadline: Deadline,
): Promise<PartitionResult[]> {
  const request = { reassignments: [...moves], timeoutMs: brokerTimeout(deadline) };
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

interface Move extends Omit<OngoingReassignment, 'adding'> {
  readonly leaderId: number | undefined;
  readonly adding: readonly Pick<AddedReplica, 'brokerId' | 'inSync'>[];
}

function moveOf({ topic, topicId }: TopicView, view: PartitionView): Move[] {
  const { partition, leader, replicas, isr, addingReplicas = [], removingReplicas = [] } = view;
  if (addingReplicas.length + removingReplicas.length === 0) return [];
  return [
    {
      topic,
      topicId,
      partition,
      leaderId: leader?.brokerId,
      replicas: replicas.filter((id) => !removingReplicas.includes(id)),
      adding: addingReplicas.map((brokerId) => ({ brokerId, inSync: isr.includes(brokerId) })),
      removing: removingReplicas,
    },
  ];
}

const notAsked: Progress = { progress: undefined, unknown: undefined };

function withProgress({ leaderId: _, ...move }: Move, progressOf: ProgressOf): OngoingReassignment {
  const adding = move.adding.map((added) => ({ ...added, ...progressOf(added.brokerId) }));
  return { ...move, adding };
}

function resultOf({ topic, topicId, partition, error }: PartitionAnswer): PartitionResult {
  const failed = error !== null && error.code !== 'NONE';
  const told: TributaryError | undefined = failed ? fromWireError(error) : undefined;
  return { topic, topicId, partition, error: told };
}
