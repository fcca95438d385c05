/**
 * Deletion of records up to an offset, by the leaders of the partitions. Invariant: 'latest' means the end at the time of
 * the call, so that a request that is repeated deletes nothing that was written since. Called by the admin.
 */
import { TributaryError, type Deadline } from '@tributary/common';
import { methods, type DeleteRecordsResult } from '@tributary/protocol';
import type { ClientContext } from '../seams';
import type { DeletedRecords, DeletionOffsets } from './admin-types';
import { askLeaders, requireAnswer } from './leader-calls';
import { lookUpOffsets } from './partition-offsets';

/** The leader's own wait for its replicas ends this much earlier, so that its answer says who is missing. */
const ANSWER_MARGIN_MS = 500;

/** Throws the first partition's error; others may be done then. */
export async function deleteRecords(
  context: ClientContext,
  topic: string,
  before: DeletionOffsets,
  deadline: Deadline,
): Promise<DeletedRecords[]> {
  const offsets = await explicitOffsets(context, topic, before, deadline);
  const partitions = [...offsets.keys()];
  const answers = await askLeaders<DeleteRecordsResult>(
    context,
    {
      topic,
      partitions,
      doing: 'deleting records',
      attemptMs: Infinity,
      ask: async (leader, led, options) => {
        const asked = led.map((one) => ({ ...one, beforeOffset: offsets.get(one.partition) }));
        const { timeoutMs } = options;
        const waitMs = Math.floor(Math.max(timeoutMs / 2, timeoutMs - ANSWER_MARGIN_MS));
        const request = { partitions: asked, timeoutMs: Math.max(1, waitMs) };
        return (await leader.call(methods.admin.deleteRecords, request, options)).results;
      },
    },
    deadline,
  );
  return partitions.map((partition) => {
    const { logStartOffset } = requireAnswer(answers.get(partition));
    return { partition, startOffset: BigInt(logStartOffset) };
  });
}

async function explicitOffsets(
  context: ClientContext,
  topic: string,
  before: DeletionOffsets,
  deadline: Deadline,
): Promise<Map<number, number>> {
  const entries = Object.entries(before).map(([key, offset]) => ({
    partition: partitionNumber(key),
    offset,
  }));
  const open = entries.filter(({ offset }) => offset === 'latest');
  const partitions = open.map(({ partition }) => partition);
  const ends = await lookUpOffsets(context, { topic, partitions, query: 'latest' }, deadline);
  return new Map(
    entries.map(({ partition, offset }) => [
      partition,
      offset === 'latest' ? requireAnswer(ends.get(partition)).offset : wholeOffset(offset),
    ]),
  );
}

function partitionNumber(key: string): number {
  if (/^[0-9]{1,9}$/.test(key)) return Number(key);
  throw new TributaryError('INVALID_ARGUMENT', `${key} is not a partition number`);
}

function wholeOffset(offset: bigint | number): number {
  const value = Number(offset);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TributaryError('INVALID_ARGUMENT', `${offset} is not an offset`);
}
