/**
 * What a person should know before an unclean election, or why none is needed. Pure. Called by `trib topic elect --unclean`
 * without --yes.
 */
import type { NamedPartition, PartitionDescription, TopicDescription } from '@tributary/client';
import { TributaryError } from '@tributary/common';

/** @param partition undefined: those of the topic that have no leader. @param live brokers that may lead now. */
export function uncleanRefusal(
  { topic, partitions }: Pick<TopicDescription, 'topic' | 'partitions'>,
  partition: number | undefined,
  live: ReadonlySet<number>,
): TributaryError {
  if (partition === undefined) {
    const open = partitions.filter(({ leader }) => leader === undefined);
    return unconfirmed(open.map((one) => outlook(topic, one, live)));
  }
  const found = partitions.find((one) => one.partition === partition);
  if (!found) {
    const text = `topic ${topic} has ${partitions.length} partitions, there is no partition ${partition}`;
    return new TributaryError('UNKNOWN_PARTITION', text);
  }
  if (found.leader === undefined) return unconfirmed([outlook(topic, found, live)]);
  const text = `${nameOf({ topic, partition })} is led by broker ${found.leader}: there is nothing to elect`;
  return new TributaryError('INELIGIBLE_REPLICA', text, {
    hint: 'An unclean election is for a partition without a leader; trib topic describe shows which have none.',
  });
}

function unconfirmed(outlooks: readonly string[]): TributaryError {
  return new TributaryError('LOSS_NOT_CONFIRMED', outlooks.join('; '), {
    hint: 'Start one of the missing brokers instead, or repeat the command with --yes.',
  });
}

function outlook(topic: string, found: PartitionDescription, live: ReadonlySet<number>): string {
  const { partition, replicas, isr, eligibleLeaders, offlineReplicas } = found;
  const complete = new Set([...isr, ...eligibleLeaders]);
  const offline = new Set(offlineReplicas.map(({ brokerId }) => brokerId));
  const candidates = replicas.filter((id) => live.has(id) && !offline.has(id) && !complete.has(id));
  const missing = [...complete].filter((id) => !live.has(id) || offline.has(id));
  const able = [...complete].filter((id) => !missing.includes(id));
  const name = nameOf({ topic, partition });
  if (able.length > 0) {
    return `${name} has no leader at this moment, and ${brokers(able)} can lead without any loss`;
  }
  const chosen = candidates.length > 0 ? `${brokers(candidates)} could lead ${name}` : `no replica of ${name} can lead now`;
  return `${chosen}; ${brokers(missing)} would lose nothing, but ${missing.length === 1 ? 'is' : 'are'} missing: records that only ${missing.length === 1 ? 'it has' : 'they have'} would be lost for good`;
} // prettier-ignore

function nameOf({ topic, partition }: NamedPartition): string {
  return `${topic}-${partition}`;
}

function brokers(ids: readonly number[]): string {
  return `broker${ids.length === 1 ? '' : 's'} ${ids.join(', ')}`;
}
