/**
 * How far replicas are that are being added: nobody but the leader of their partition knows. Invariant: what a leader does not
 * tell in time is unknown, with the reason, and never guessed; it does not hold up what is known. Called by reassignments.
 */
import { Deadline, partitionsByTopic, TributaryError } from '@tributary/common';
import {
  methods,
  type DescribeReplicasResult,
  type FollowerProgress as WireProgress,
} from '@tributary/protocol';
import type { ClientContext } from '../seams';
import type { AddedReplica, NamedPartition, ReplicaProgress } from './cluster-types';
import { askLeaders } from './leader-calls';

/** A leader that does not answer leaves its progress out after this. */
export const PROGRESS_MS = 3_000;
const MAX_TOPICS_AT_ONCE = 16;

export interface MovedPartition extends NamedPartition {
  /** undefined: it has no leader now. */
  readonly leaderId: number | undefined;
  /** Nobody is asked where none is added. */
  readonly adding: readonly unknown[];
}

export type Progress = Pick<AddedReplica, 'progress' | 'unknown'>;
/** Of one partition, by the id of the broker that gets a replica. */
export type ProgressOf = (brokerId: number) => Progress;

interface LeaderAnswer extends DescribeReplicasResult {
  readonly throttle: number | undefined;
}

/** In the order of `moved`. Never rejects but for CANCELLED. */
export async function lookUpProgress(
  context: ClientContext,
  moved: readonly MovedPartition[],
  deadline: Deadline,
): Promise<ProgressOf[]> {
  const asked = moved.filter(({ leaderId, adding }) => leaderId !== undefined && adding.length > 0);
  const answers = new Map<string, Map<number, LeaderAnswer | TributaryError>>();
  const left = [...partitionsByTopic(asked)];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [topic, partitions] = next;
      answers.set(topic, await askAbout(context, topic, partitions, deadline));
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_TOPICS_AT_ONCE, left.length) }, worker));
  return moved.map(({ topic, partition, leaderId }) => {
    if (leaderId === undefined) return () => unknown('the partition has no leader now');
    const answer = answers.get(topic)?.get(partition);
    return (brokerId) => progressOf(answer, brokerId);
  });
}

function askAbout(
  context: ClientContext,
  topic: string,
  partitions: readonly number[],
  deadline: Deadline,
): Promise<Map<number, LeaderAnswer | TributaryError>> {
  const { describeReplicas } = methods.admin;
  const waitMs = Math.min(PROGRESS_MS, deadline.remainingMs);
  return askLeaders<LeaderAnswer>(
    context,
    {
      ...{ topic, partitions, doing: 'asking for progress', attemptMs: PROGRESS_MS },
      ask: async (leader, led, options) => {
        const answer = await leader.call(describeReplicas, { partitions: [...led] }, options);
        const throttle = answer.catchUpBytesPerSecond || undefined;
        return answer.results.map((result) => ({ ...result, throttle }));
      },
    },
    Deadline.after(context.clock, waitMs, deadline.signal),
  );
}

function progressOf(answer: LeaderAnswer | TributaryError | undefined, brokerId: number): Progress {
  if (answer === undefined) return unknown('no leader answered in time');
  if (answer instanceof TributaryError) return unknown(answer.message);
  const follower = answer.followers.find((one) => one.brokerId === brokerId);
  if (!follower) return unknown('its leader has not heard of it yet');
  if (!follower.attached) return unknown('it does not follow its leader now');
  return { progress: toProgress(answer, follower), unknown: undefined };
}

function toProgress(
  { logEndOffset, logBytes, throttle }: LeaderAnswer,
  follower: WireProgress,
): ReplicaProgress {
  return {
    endOffset: BigInt(follower.logEndOffset),
    leaderEndOffset: BigInt(logEndOffset),
    bytes: Math.max(0, logBytes - follower.bytesBehind),
    leaderBytes: logBytes,
    bytesPerSecond: follower.bytesPerSecond,
    throttleBytesPerSecond: follower.catchingUp ? throttle : undefined,
  };
}

function unknown(why: string): Progress {
  return { progress: undefined, unknown: why };
}
