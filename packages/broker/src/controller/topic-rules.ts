/**
 * What the settings of a topic mean to the controller. Pure; called where a topic's record is taken in. Settings that
 * cannot be read, as of a newer version, give the safe choice.
 */
import { parseTopicConfig } from '@tributary/common';
import type { TopicRecord } from '@tributary/coordination';

export interface TopicRules {
  /** min(min.insync.replicas, replication factor). */
  readonly minIsr: number;
  /** What counts is on the device: the machine may go down. */
  readonly isSynced: boolean;
  /** Where nobody complete is left, somebody else leads at once. */
  readonly mayElectUnclean: boolean;
}

export function topicRules(record: TopicRecord): TopicRules {
  const factor = replicationFactorOf(record);
  try {
    const config = parseTopicConfig(record.configs, factor);
    return {
      minIsr: Math.min(config.minInsyncReplicas, factor),
      isSynced: config.flush === 'sync',
      mayElectUnclean: config.uncleanLeaderElection,
    };
  } catch {
    return { minIsr: Math.min(2, factor), isSynced: false, mayElectUnclean: false };
  }
}

/** Replicas of a partition without those that are just passing; of the partition that has the fewest. At least 1. */
export function replicationFactorOf({ assignment, reassignments }: TopicRecord): number {
  const factors = assignment.map((replicas, partition) => {
    const { adding = [], removing = [] } = reassignments?.get(partition) ?? {};
    return replicas.length - Math.max(adding.length, removing.length);
  });
  return Math.max(1, Math.min(...factors));
}
