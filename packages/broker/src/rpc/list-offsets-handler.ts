/**
 * Broker/ListOffsets: where a partition begins and ends for a reader, and where a time lies. Invariant: nothing at or
 * above the HW is told; a leader whose HW has not reached the start of its epoch does not know where the
 * committed end is and says OFFSET_NOT_AVAILABLE instead of an older one. Called by `dataHandlers`.
 */
import { TributaryError } from '@tributary/common';
import type { TimestampedOffset } from '@tributary/log';
import {
  methods,
  toWireError,
  unaryHandler,
  type Handler,
  type ListOffsetsPartition,
  type ListOffsetsResultInput,
} from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import type { LeaderState } from '../partition/partition-state';
import { ledPartition, type Caller, type DataHost } from './data-host';
import { requireKnownEnd } from './known-end';

export function listOffsetsHandler(host: DataHost): Handler {
  return unaryHandler(methods.broker.listOffsets, async ({ partitions }, { listener }) => {
    const { maxPartitionsPerRequest } = host.limits;
    if (partitions.length > maxPartitionsPerRequest) {
      const message = `a request may name ${maxPartitionsPerRequest} partitions, not ${partitions.length}`;
      throw new TributaryError('INVALID_ARGUMENT', message);
    }
    const caller = { listener, mayUseNames: true };
    return { results: partitions.map((asked) => listOffset(host, asked, caller)) };
  });
}

function listOffset(
  host: DataHost,
  asked: ListOffsetsPartition,
  caller: Caller,
): ListOffsetsResultInput {
  const { topic, topicId, partition: number } = asked;
  try {
    const { partition, leader } = ledPartition(host, asked, caller);
    const found = lookUp(partition, leader, asked);
    return {
      topic,
      topicId: partition.topicId,
      partition: number,
      offset: found?.offset ?? -1,
      timestamp: found?.timestamp ?? -1,
      leaderEpoch: leader.leaderEpoch,
      note: partition.frozenNote,
    };
  } catch (error) {
    const answer = { topic, topicId, partition: number, offset: -1, timestamp: -1 };
    return { ...answer, leaderEpoch: -1, error: toWireError(error) };
  }
}

function lookUp(
  partition: Partition,
  leader: LeaderState,
  asked: ListOffsetsPartition,
): TimestampedOffset | undefined {
  if (asked.spec === 'EARLIEST') return { offset: partition.log.logStartOffset, timestamp: -1 };
  requireKnownEnd(partition, leader);
  const { highWatermark } = leader;
  const { log } = partition;
  switch (asked.spec) {
    case 'LATEST':
      return { offset: highWatermark, timestamp: -1 };
    case 'TIMESTAMP':
      return partition.guard(() => log.offsetForTimestamp(asked.timestamp, highWatermark));
    case 'MAX_TIMESTAMP':
      return partition.guard(() => log.maxTimestamp(highWatermark));
    default:
      throw new TributaryError('INVALID_ARGUMENT', `offset spec ${asked.spec} does not exist`);
  }
}
