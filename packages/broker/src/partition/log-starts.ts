/**
 * The log start offset of a partition's replicas. A leader raises it on demand and tells its followers with marks and
 * pushes; a follower takes it over as far as its own high watermark reaches. Retention raises it on each replica by
 * itself. Called by the delete-records handler and by the follower's side of replication.
 */
import { TributaryError, type Clock } from '@tributary/common';
import type { Partition } from './partition';

/**
 * Resolves when this leader and all in-sync followers have deleted, and the leader's checkpoint says so. The caller has
 * called `requireLeader` in the same tick. Throws OFFSET_OUT_OF_RANGE, TIMEOUT, NOT_LEADER, STORAGE_ERROR.
 */
export async function deleteRecords(
  partition: Partition,
  offset: number,
  {
    brokerId,
    ...timeout
  }: { readonly brokerId: number; readonly clock: Clock; readonly ms: number },
): Promise<void> {
  const { log, state } = partition;
  if (offset > state.highWatermark) {
    throw new TributaryError(
      'OFFSET_OUT_OF_RANGE',
      `${partition.name}: records up to ${offset} cannot be deleted, ${state.highWatermark} is committed`,
      { outcome: 'not written', details: { offset, highWatermark: state.highWatermark } },
    );
  }
  raise(partition, offset);
  for (const attachment of partition.attachments.values()) attachment.logStartMoved();
  await log.storeLogStart();
  await partition.logStarts.reached(offset, () => inSyncFollowers(partition, brokerId), timeout);
}

/** What the leader tells, on a follower. */
export function followLogStart(partition: Partition, leaderLogStart: number): void {
  const offset = Math.min(leaderLogStart, partition.state.highWatermark);
  if (offset <= partition.log.logStartOffset) return;
  try {
    raise(partition, offset);
  } catch (error) {
    // The next mark tells it again, and a failed log has said so itself.
    if (!(error instanceof TributaryError)) throw error;
  }
}

function raise(partition: Partition, offset: number): void {
  try {
    partition.log.deleteRecordsBefore(offset);
  } catch (error) {
    partition.noticeFailure(error);
    throw error;
  }
}

function inSyncFollowers({ state }: Partition, brokerId: number): number[] {
  if (state.role !== 'leader') return [];
  return state.isr.filter((member) => member !== brokerId);
}
