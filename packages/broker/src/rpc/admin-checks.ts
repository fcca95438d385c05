/**
 * What is refused before anybody is asked: requests that no state of the cluster could make right. Called by the admin
 * handlers.
 */
import { partitionName, TributaryError, validateTopicName } from '@tributary/common';
import { maxPartitionsPerCommand } from '../controller/reassign-partitions';
import type { MetadataImage } from '../metadata/metadata-image';

/** Settings that one request may name. */
export const maxSettingsPerCommand = 100;
/** Replicas of one partition. */
export const maxReplicasPerPartition = 100;

export function invalid(message: string, hint?: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, {
    outcome: 'not written',
    ...(hint === undefined ? {} : { hint }),
  });
}

interface NamedPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

/** Throws INVALID_ARGUMENT, INVALID_TOPIC. */
export function checkPartitionNames(names: readonly NamedPartition[]): void {
  if (names.length > maxPartitionsPerCommand) {
    throw invalid(
      `${names.length} partitions in one request, at most ${maxPartitionsPerCommand} are possible`,
      'Ask in several requests.',
    );
  }
  const seen = new Set<string>();
  for (const { topic, partition } of names) {
    validateTopicName(topic);
    if (partition < 0)
      throw invalid(`partition ${partition} of topic ${topic}: the first one is 0`);
    const key = partitionName(topic, partition);
    if (seen.has(key)) throw invalid(`partition ${partition} of topic ${topic} is named twice`);
    seen.add(key);
  }
}

/** Throws INVALID_ARGUMENT. `where` names the partition. */
export function checkReplicas(replicas: readonly number[], where: string): void {
  if (replicas.length === 0) {
    throw invalid(
      `${where} would have no replica`,
      'Name the brokers, the preferred leader first.',
    );
  }
  if (replicas.length > maxReplicasPerPartition) {
    throw invalid(`${where}: ${replicas.length} replicas, at most ${maxReplicasPerPartition}`);
  }
  const twice = replicas.find((id, index) => replicas.indexOf(id) !== index);
  if (twice !== undefined) throw invalid(`${where} would have two replicas on broker ${twice}`);
  const negative = replicas.find((id) => id < 0);
  if (negative !== undefined) throw invalid(`${where}: ${negative} is no broker id`);
}

/** Throws INVALID_ARGUMENT where one setting is set and removed, or there are too many. */
export function checkSettingNames(
  set: Readonly<Record<string, string>>,
  removed: readonly string[],
): void {
  const count = Object.keys(set).length + removed.length;
  if (count > maxSettingsPerCommand) {
    throw invalid(`${count} settings in one request, at most ${maxSettingsPerCommand}`);
  }
  const both = removed.find((name) => Object.hasOwn(set, name));
  if (both !== undefined) throw invalid(`setting ${both} cannot be set and removed at once`);
}

/** The id that the caller named, or that of whatever topic has that name in this broker's image. */
export function topicIdIn(image: MetadataImage, { topic, topicId }: NamedPartition): string {
  return topicId || (image.topicByName(topic)?.topicId ?? '');
}
