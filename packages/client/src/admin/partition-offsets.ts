/**
 * Offsets of partitions, asked of their leaders: one call per leader, those that fail asked again. Called by the
 * admin for itself, for topics and for lag.
 */
import { backoffMs, sleep, TributaryError, type Deadline } from '@tributary/common';
import { fromWireError, methods, type ListOffsetsResult } from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';
import type { OffsetQuery } from './admin-types';

/** One leader may take this long to answer before its partitions are looked up again. */
const ATTEMPT_MS = 3_000;

export interface OffsetsRequest {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly query: OffsetQuery;
}

export type OffsetAnswer = ListOffsetsResult | TributaryError;

interface Led {
  readonly partition: number;
  readonly leaderEpoch: number;
}

/** By partition: the answer, or what kept it away until the deadline. Never rejects but for CANCELLED. */
export async function lookUpOffsets(
  context: ClientContext,
  request: OffsetsRequest,
  deadline: Deadline,
): Promise<Map<number, OffsetAnswer>> {
  const answers = new Map<number, OffsetAnswer>();
  let open = [...request.partitions];
  for (let attempt = 0; open.length > 0; attempt += 1) {
    const round = await askLeaders(context, { ...request, partitions: open }, deadline);
    for (const [partition, answer] of round) answers.set(partition, answer);
    if (deadline.signal?.aborted) deadline.check('listing offsets');
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

/** Throws the first partition's error. */
export function requireOffset(answer: OffsetAnswer | undefined): ListOffsetsResult {
  if (answer && !(answer instanceof TributaryError)) return answer;
  throw answer ?? new TributaryError('TIMEOUT', 'no leader answered in time');
}

async function askLeaders(
  context: ClientContext,
  request: OffsetsRequest,
  deadline: Deadline,
): Promise<Map<number, OffsetAnswer>> {
  const answers = new Map<number, OffsetAnswer>();
  const byLeader = new Map<number, { leader: BrokerNode; led: Led[] }>();
  const { topic } = request;
  const looks = request.partitions.map(async (partition) => {
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
      const results = await askLeader(context, request, leader, led, deadline);
      for (const [partition, answer] of results) answers.set(partition, answer);
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      for (const { partition } of led) answers.set(partition, error);
    }
  });
  await Promise.all(calls);
  for (const { led } of byLeader.values()) report(context, topic, led, answers);
  return answers;
}

async function askLeader(
  context: ClientContext,
  { topic, query }: OffsetsRequest,
  leader: BrokerNode,
  led: readonly Led[],
  deadline: Deadline,
): Promise<Map<number, OffsetAnswer>> {
  const topicId = context.metadata.cached(topic)?.topicId ?? '';
  const timestamp = typeof query === 'object' ? query.timestamp : 0;
  const spec = typeof query === 'object' ? 'TIMESTAMP' : query === 'latest' ? 'LATEST' : 'EARLIEST';
  const partitions = led.map((one) => ({ ...one, topic, topicId, spec, timestamp }) as const);
  const response = await context.connections.to(leader).call(
    methods.broker.listOffsets,
    { partitions },
    {
      timeoutMs: Math.max(1, Math.min(ATTEMPT_MS, deadline.remainingMs)),
      ...(deadline.signal ? { signal: deadline.signal } : {}),
    },
  );
  return new Map(
    response.results.map((result) => {
      const { error, partition } = result;
      return [partition, error && error.code !== 'NONE' ? fromWireError(error) : result];
    }),
  );
}

/** What failed is looked up anew before it is asked again. */
function report(
  context: ClientContext,
  topic: string,
  led: readonly Led[],
  answers: ReadonlyMap<number, OffsetAnswer>,
): void {
  for (const { partition, leaderEpoch } of led) {
    const answer = answers.get(partition);
    if (!(answer instanceof TributaryError)) continue;
    context.metadata.reportFailure(topic, partition, leaderEpoch, answer);
  }
}
