/**
 * Questions about partitions of one topic, asked of their leaders: one call per leader, those that fail asked again
 * until the deadline. Invariant: what failed is looked up anew before it is asked again. For requests that may be
 * repeated. Called by the admin, for offsets and for deletions.
 */
import { backoffMs, sleep, TributaryError, type Deadline } from '@tributary/common';
import {
  fromWireError,
  type CallOptions,
  type Connection,
  type WireError,
} from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';

/** A partition as a request names it. */
export interface LedPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
}

export interface PartitionResult {
  readonly partition: number;
  readonly error: WireError | null;
}

export interface LeaderQuestion<Result extends PartitionResult> {
  readonly topic: string;
  readonly partitions: readonly number[];
  /** As an error names it when it is aborted: "listing offsets". */
  readonly doing: string;
  /** One leader may take this long to answer before its partitions are looked up again. */
  readonly attemptMs: number;
  /** Asks one leader for those of its partitions that are still open. */
  ask(
    leader: Connection,
    partitions: readonly LedPartition[],
    options: CallOptions,
  ): Promise<readonly Result[]>;
}

/** By partition: the answer, or what kept it away until the deadline. Never rejects but for CANCELLED. */
export async function askLeaders<Result extends PartitionResult>(
  context: ClientContext,
  question: LeaderQuestion<Result>,
  deadline: Deadline,
): Promise<Map<number, Result | TributaryError>> {
  const answers = new Map<number, Result | TributaryError>();
  let open = [...question.partitions];
  for (let attempt = 0; open.length > 0; attempt += 1) {
    const round = await askOnce(context, { ...question, partitions: open }, deadline);
    for (const [partition, answer] of round) answers.set(partition, answer);
    if (deadline.signal?.aborted) deadline.check(question.doing);
    open = open.filter((partition) => {
      const answer = answers.get(partition);
      return answer instanceof TributaryError && answer.retriable;
    });
    const waitMs = backoffMs(attempt, context.random, { maxMs: 250 });
    if (waitMs >= deadline.remainingMs) break;
    if (open.length > 0) await sleep(context.clock, waitMs, deadline.signal);
  }
  return answers;
}

/** Throws the partition's error. */
export function requireAnswer<Result>(answer: Result | TributaryError | undefined): Result {
  if (answer instanceof TributaryError) throw answer;
  if (answer === undefined) throw new TributaryError('TIMEOUT', 'no leader answered in time');
  return answer;
}

interface Led {
  readonly partition: number;
  readonly leaderEpoch: number;
}

async function askOnce<Result extends PartitionResult>(
  context: ClientContext,
  question: LeaderQuestion<Result>,
  deadline: Deadline,
): Promise<Map<number, Result | TributaryError>> {
  const answers = new Map<number, Result | TributaryError>();
  const byLeader = new Map<number, { leader: BrokerNode; led: Led[] }>();
  const { topic } = question;
  const looks = question.partitions.map(async (partition) => {
    try {
      const { leader, leaderEpoch } = await context.metadata.leader(topic, partition, deadline);
      const entry = byLeader.get(leader.brokerId) ?? { leader, led: [] };
      entry.led.push({ partition, leaderEpoch });
      byLeader.set(leader.brokerId, entry);
    } catch (thrown) {
      answers.set(partition, TributaryError.from(thrown));
    }
  });
  await Promise.all(looks);
  const calls = [...byLeader.values()].map(async ({ leader, led }) => {
    try {
      for (const result of await askOne(context, question, { leader, led }, deadline)) {
        const { error, partition } = result;
        const failed = error !== null && error.code !== 'NONE';
        answers.set(partition, failed ? fromWireError(error) : result);
      }
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      for (const { partition } of led) answers.set(partition, error);
    }
  });
  await Promise.all(calls);
  for (const { led } of byLeader.values()) report(context, topic, led, answers);
  return answers;
}

function askOne<Result extends PartitionResult>(
  context: ClientContext,
  question: LeaderQuestion<Result>,
  { leader, led }: { readonly leader: BrokerNode; readonly led: readonly Led[] },
  deadline: Deadline,
): Promise<readonly Result[]> {
  const { topic, attemptMs } = question;
  const topicId = context.metadata.cached(topic)?.topicId ?? '';
  const partitions = led.map((one) => ({ ...one, topic, topicId }));
  return question.ask(context.connections.to(leader), partitions, {
    timeoutMs: Math.max(1, Math.min(attemptMs, deadline.remainingMs)),
    ...(deadline.signal ? { signal: deadline.signal } : {}),
  });
}

/** What failed is looked up anew before it is asked again. */
function report(
  context: ClientContext,
  topic: string,
  led: readonly Led[],
  answers: ReadonlyMap<number, unknown>,
): void {
  for (const { partition, leaderEpoch } of led) {
    const answer = answers.get(partition);
    if (!(answer instanceof TributaryError)) continue;
    context.metadata.reportFailure(topic, partition, leaderEpoch, answer);
  }
}
