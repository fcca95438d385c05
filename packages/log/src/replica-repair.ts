/**
 * Repairs one replica of a log directory and opens it. Invariant: the mark of the damage goes once the repaired log, and a
 * recovery point that spares it from being searched for holes, are on the device. Called by LogDirectory alone.
 */
import { forgetDamage, keepDamageMarked } from './damage-mark';
import type { Disk } from './disk';
import type { Log } from './log';
import { repairLog, type RepairPlan } from './log-repair';
import type { RepairedLog } from './log-store';
import { writeTopicId } from './partition-metadata';

export interface ReplicaRepair extends RepairPlan {
  readonly disk: Disk;
  /** Of the partition. */
  readonly directory: string;
  readonly topicId: string;
  /** As the checkpoint file said. */
  readonly logStartOffset: number | undefined;
  open(known: {
    readonly recoveryPoint: number;
    readonly logStartOffset: number | undefined;
  }): Promise<Log>;
  checkpoint(): Promise<void>;
}

export async function repairReplica(repair: ReplicaRepair): Promise<RepairedLog> {
  const { disk, directory, topicId, logStartOffset } = repair;
  disk.makeDirectory(directory);
  await keepDamageMarked(disk, directory);
  const { lost, endOffset } = await repairLog(disk, directory, repair);
  await writeTopicId(disk, directory, topicId);
  await disk.syncDirectory(directory.slice(0, directory.lastIndexOf('/')));
  const log = await repair.open({ recoveryPoint: endOffset, logStartOffset });
  await log.flush();
  await repair.checkpoint();
  await forgetDamage(disk, directory);
  return { log, lost };
}
