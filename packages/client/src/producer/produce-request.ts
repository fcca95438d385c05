/**
 * Which batches share a request, and how it looks on the wire. Invariant: at most one batch per partition in
 * a request, so that a result names its batch. Called by ProduceLink.
 */
import type { TributaryError } from '@tributary/common';
import type { ProduceRequestInput } from '@tributary/protocol';

/** Partitions in one request; brokers refuse far more. */
export const MAX_REQUEST_PARTITIONS = 1_000;

export type LinkResult =
  /** baseOffset -1: acks none, nobody knows. */
  | { readonly type: 'written'; readonly baseOffset: number }
  | { readonly type: 'refused'; readonly error: TributaryError }
  | { readonly type: 'lost'; readonly error: TributaryError }
  | { readonly type: 'unsent'; readonly error: TributaryError };

export interface ProduceItem {
  /** Of the partition of one topic id: see partitionKey. */
  readonly key: string;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly batch: Buffer;
  readonly settle: (result: LinkResult) => void;
}

/** Takes the next request's items off the front of the queue: at least one, then as many as fit. */
export function takeRequest(queue: ProduceItem[], maxBytes: number): ProduceItem[] {
  const partitions = new Set<string>();
  let bytes = 0;
  let count = 0;
  for (const item of queue) {
    bytes += item.batch.length;
    if (count > 0 && (bytes > maxBytes || partitions.has(item.key))) break;
    if (count === MAX_REQUEST_PARTITIONS) break;
    partitions.add(item.key);
    count += 1;
  }
  return queue.splice(0, count);
}

export function wireRequest(
  items: readonly ProduceItem[],
  request: { readonly correlationId: number; readonly timeoutMs: number; readonly acks: number },
): ProduceRequestInput {
  return {
    ...request,
    partitions: items.map(({ topic, topicId, partition, leaderEpoch, batch }) => ({
      topic,
      topicId,
      partition,
      leaderEpoch,
      batch,
      payload: 'batch' as const,
    })),
  };
}
