/**
 * Admin/DescribeReplicas: how far the followers of a partition are, for people. Invariant: only the leader answers, in the
 * epoch that the caller means, and of a follower that is not attached it tells nothing. Called by `dataHandlers`.
 */
import { TributaryError } from '@tributary/common';
import {
  methods,
  toWireError,
  unaryHandler,
  type DescribeReplicasPartition,
  type DescribeReplicasResultInput,
  type FollowerProgressInput,
  type Handler,
} from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import { ledPartition, type Caller, type DataHost } from './data-host';

export function describeReplicasHandler(host: DataHost): Handler {
  return unaryHandler(methods.admin.describeReplicas, async ({ partitions }, { listener }) => {
    const { maxPartitionsPerRequest, catchUpBytesPerSecond } = host.limits;
    if (partitions.length > maxPartitionsPerRequest) {
      const message = `a request may name ${maxPartitionsPerRequest} partitions, not ${partitions.length}`;
      throw new TributaryError('INVALID_ARGUMENT', message);
    }
    const caller = { listener, mayUseNames: true };
    return {
      results: partitions.map((asked) => describe(host, asked, caller)),
      catchUpBytesPerSecond: catchUpBytesPerSecond ?? 0,
    };
  });
}

function describe(
  host: DataHost,
  asked: DescribeReplicasPartition,
  caller: Caller,
): DescribeReplicasResultInput {
  const { topic, topicId, partition: number } = asked;
  try {
    const { partition, leader } = ledPartition(host, asked, caller);
    const { logStartOffset, logEndOffset, sizeBytes } = partition.log;
    return {
      topic,
      topicId: partition.topicId,
      partition: number,
      leaderEpoch: leader.leaderEpoch,
      logStartOffset,
      logEndOffset,
      logBytes: sizeBytes,
      followers: leader.followers.map(({ brokerId }) => progressOf(partition, brokerId)),
    };
  } catch (error) {
    const nothing = { leaderEpoch: -1, logStartOffset: -1, logEndOffset: -1, logBytes: -1 };
    return { topic, topicId, partition: number, ...nothing, error: toWireError(error) };
  }
}

function progressOf({ attachments }: Partition, brokerId: number): FollowerProgressInput {
  const attachment = attachments.get(brokerId);
  if (!attachment) return { brokerId, attached: false, logEndOffset: -1, bytesBehind: -1 };
  return { brokerId, attached: true, ...attachment.progress };
}
