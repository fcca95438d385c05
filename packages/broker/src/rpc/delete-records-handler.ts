/**
 * Admin/DeleteRecords: raises log start offsets. Invariant: nothing that is not committed is deleted, and what is answered
 * as deleted stays deleted with the next leader. Only leaders take it, as they do list-offsets. Called by `dataHandlers`.
 */
import { TributaryError } from '@tributary/common';
import {
  methods,
  toWireError,
  unaryHandler,
  type DeleteRecordsPartition,
  type DeleteRecordsResultInput,
  type Handler,
} from '@tributary/protocol';
import { deleteRecords } from '../partition/log-starts';
import { ledPartition, type Caller, type DataHost } from './data-host';
import { requireKnownEnd } from './known-end';

/** Where a request names none. */
const DEFAULT_TIMEOUT_MS = 30_000;

export function deleteRecordsHandler(host: DataHost): Handler {
  return unaryHandler(
    methods.admin.deleteRecords,
    async ({ partitions, timeoutMs }, { listener }) => {
      const { maxPartitionsPerRequest, maxProduceTimeoutMs } = host.limits;
      if (partitions.length > maxPartitionsPerRequest) {
        const message = `a request may name ${maxPartitionsPerRequest} partitions, not ${partitions.length}`;
        throw new TributaryError('INVALID_ARGUMENT', message);
      }
      const caller = { listener, mayUseNames: true };
      const ms = Math.min(timeoutMs || DEFAULT_TIMEOUT_MS, maxProduceTimeoutMs);
      const results = partitions.map((asked) => deleteBefore(host, asked, caller, ms));
      return { results: await Promise.all(results) };
    },
  );
}

async function deleteBefore(
  host: DataHost,
  asked: DeleteRecordsPartition,
  caller: Caller,
  ms: number,
): Promise<DeleteRecordsResultInput> {
  const { topic, topicId, partition: number } = asked;
  try {
    const { partition, leader } = ledPartition(host, asked, caller);
    requireKnownEnd(partition, leader);
    const offset = wantedOffset(asked.beforeOffset, leader.highWatermark);
    const { brokerId } = host.acceptor();
    await deleteRecords(partition, offset, { brokerId, clock: host.clock, ms });
    const { logStartOffset } = partition.log;
    return { topic, topicId: partition.topicId, partition: number, logStartOffset };
  } catch (error) {
    const answer = { topic, topicId, partition: number, logStartOffset: -1 };
    return { ...answer, error: toWireError(error) };
  }
}

function wantedOffset(beforeOffset: number, highWatermark: number): number {
  if (beforeOffset === -1) return highWatermark;
  if (beforeOffset >= 0) return beforeOffset;
  throw new TributaryError('INVALID_ARGUMENT', `before_offset ${beforeOffset} is no offset`);
}
