/**
 * Reads the logs of all replicas of a simulated cluster: byte for byte the same below the high watermark, whatever
 * happened to their brokers. Called by scenarios, when all brokers run.
 */
import { lastOffsetAt, splitBatches } from '@tributary/record';
import type { SimulatedCluster } from './simulated-cluster';

export interface ReplicaBytes {
  readonly partition: number;
  readonly brokerId: number;
  readonly highWatermark: number;
  readonly logEndOffset: number;
  /** From offset 0 to the high watermark that was asked for. */
  readonly bytes: Buffer;
}

const READ_BYTES = 1024 * 1024;

/** Of one partition, by broker; below the highest HW that any of them knows. */
export function readReplicas(cluster: SimulatedCluster, partition: number): ReplicaBytes[] {
  const found = cluster.brokerIds.flatMap((brokerId) => {
    const { status, logs } = cluster.broker(brokerId);
    const replica = status?.partitions.find((one) => one.partition === partition);
    const log = replica && logs?.get(replica.topicId, partition);
    return replica && log ? [{ brokerId, replica, log }] : [];
  });
  const below = Math.max(0, ...found.map(({ replica }) => replica.highWatermark));
  return found.map(({ brokerId, replica: { highWatermark, logEndOffset }, log }) => {
    const parts: Buffer[] = [];
    for (let offset = 0; offset < below;) {
      const batches = log.read(offset, READ_BYTES, below);
      if (batches.length === 0) break;
      parts.push(batches);
      offset = lastOffsetAt(splitBatches(batches).at(-1)!, 0) + 1;
    }
    return { partition, brokerId, highWatermark, logEndOffset, bytes: Buffer.concat(parts) };
  });
}

/** What is wrong; empty: all replicas are whole, caught up, and the same. */
export function compareReplicas(cluster: SimulatedCluster, partitions: number): string[] {
  const problems: string[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    const [first, ...others] = readReplicas(cluster, partition);
    if (!first || others.length + 1 < cluster.brokerIds.length) {
      problems.push(`partition ${partition} has only ${first ? others.length + 1 : 0} replicas`);
      continue;
    }
    for (const other of others) {
      if (other.bytes.equals(first.bytes)) continue;
      const at = firstDifference(first.bytes, other.bytes);
      problems.push(
        `partition ${partition}: brokers ${first.brokerId} and ${other.brokerId} differ at byte ${at} ` +
          `of ${first.bytes.length} and ${other.bytes.length}`,
      );
    }
  }
  return problems;
}

function firstDifference(a: Buffer, b: Buffer): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) if (a[at] !== b[at]) return at;
  return shorter;
}
