/** Topics as the admin shows them, with the offsets that their leaders tell. Called by the admin. */
import { Deadline, hasCode, TributaryError } from '@tributary/common';
import { methods, type ListOffsetsResult } from '@tributary/protocol';
import type { ClientContext, TopicView } from '../seams';
import type { DescribedPartition, ListedOffset, TopicListing } from './admin-types';
import { askAnyBroker } from './any-broker';
import { lookUpOffsets, type OffsetAnswer } from './partition-offsets';

/** A leader that does not answer leaves its offsets out after this, instead of holding up the others. */
export const DESCRIBE_OFFSETS_MS = 5_000;

export function listingOf(view: TopicView): TopicListing {
  const { topic, topicId, configs } = view;
  const partitions = view.partitions.map((found) => ({
    partition: found.partition,
    leader: found.leader?.brokerId,
    leaderEpoch: found.leaderEpoch,
    replicas: found.replicas,
    isr: found.isr,
    eligibleLeaders: found.eligibleLeaders ?? [],
    offlineReplicas: found.offlineReplicas ?? [],
    addingReplicas: found.addingReplicas ?? [],
    removingReplicas: found.removingReplicas ?? [],
  }));
  return { topic, topicId, partitions, configs };
}

/** The coordinator does not know which replicas are offline: then a broker is asked; without an answer none are told. */
export async function withOutages(
  context: ClientContext,
  view: TopicView,
  deadline: Deadline,
): Promise<TopicView> {
  if (view.partitions.every(({ offlineReplicas }) => offlineReplicas)) return view;
  const request = { topics: [view.topic] };
  try {
    const answer = await askAnyBroker(
      context,
      methods.broker.metadata,
      request,
      deadline,
      'question',
    );
    const told = answer.topics.find(({ topicId }) => topicId === view.topicId)?.partitions ?? [];
    const byNumber = new Map(told.map((one) => [one.partition, one.offlineReplicas]));
    const partitions = view.partitions.map((partition) => ({
      ...partition,
      offlineReplicas: byNumber.get(partition.partition) ?? [],
    }));
    return { ...view, partitions };
  } catch (error) {
    if (hasCode(error, 'CANCELLED', 'CLOSED')) throw error;
    return view;
  }
}

export async function describePartitions(
  context: ClientContext,
  view: TopicView,
  deadline: Deadline,
): Promise<DescribedPartition[]> {
  const { topic } = view;
  // One without a leader cannot say anything now: it is not waited for.
  const partitions = view.partitions
    .filter(({ leader }) => leader !== undefined)
    .map(({ partition }) => partition);
  const boundMs = Math.min(DESCRIBE_OFFSETS_MS, deadline.remainingMs);
  const bound = Deadline.after(context.clock, boundMs, deadline.signal);
  const [starts, ends] = await Promise.all([
    lookUpOffsets(context, { topic, partitions, query: 'earliest' }, bound),
    lookUpOffsets(context, { topic, partitions, query: 'latest' }, bound),
  ]);
  return listingOf(view).partitions.map((partition) => {
    const start = known(starts.get(partition.partition));
    const end = known(ends.get(partition.partition));
    return {
      ...partition,
      ...(start ? { startOffset: BigInt(start.offset) } : {}),
      ...(end ? { endOffset: BigInt(end.offset) } : {}),
      ...(end?.note ? { note: end.note } : {}),
    };
  });
}

export function toListedOffset(result: ListOffsetsResult): ListedOffset {
  const { partition, offset, timestamp, leaderEpoch, note } = result;
  return {
    partition,
    offset: offset < 0 ? undefined : BigInt(offset),
    timestamp: timestamp < 0 ? undefined : timestamp,
    leaderEpoch,
    ...(note ? { note } : {}),
  };
}

export function known(answer: OffsetAnswer | undefined): ListOffsetsResult | undefined {
  return answer === undefined || answer instanceof TributaryError ? undefined : answer;
}
