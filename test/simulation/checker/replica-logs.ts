/** The logs of a partition on the disks of a simulated cluster, and all their bytes. Called by the checks at the end of a seed. */
import type { PartitionLog } from '@tributary/log';
import { splitBatches } from '@tributary/record';
import type { SimulatedCluster } from '@tributary/testkit';
import { markOf } from './marked-log';
import type { PartitionModel } from './partition-model';

const READ_BYTES = 16 * 1024 * 1024;

/** By broker id. */
export function logsOf(
  cluster: SimulatedCluster,
  { topic, partition }: PartitionModel,
): [number, PartitionLog][] {
  const assigned = topic.assignment[partition] ?? [];
  return assigned.flatMap((id): [number, PartitionLog][] => {
    const log = cluster.broker(id).logs?.get(topic.topicId, partition);
    return log ? [[id, log]] : [];
  });
}

export function bytesOf(log: PartitionLog): Buffer {
  const parts: Buffer[] = [];
  for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
    const batches = log.read(offset, READ_BYTES, log.logEndOffset);
    if (batches.length === 0) break;
    parts.push(batches);
    offset = markOf(splitBatches(batches).at(-1)!).lastOffset + 1;
  }
  return Buffer.concat(parts);
}
