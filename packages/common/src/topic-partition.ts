/**
 * Names of topics and partitions. A topic is identified by its id; the name is for people and for
 * directory names.
 */
import { TributaryError } from './tributary-error';

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export const MAX_TOPIC_NAME_LENGTH = 249;

/** `orders-3`: the directory name on disk and the label in logs. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/** Map key of a partition of one incarnation of a topic. */
export function partitionKey(topicId: string, partition: number): string {
  return `${topicId}/${partition}`;
}

/** The partitions of each topic, in their order. */
export function partitionsByTopic(named: Iterable<TopicPartition>): Map<string, number[]> {
  const byTopic = new Map<string, number[]>();
  for (const { topic, partition } of named) {
    const known = byTopic.get(topic);
    if (known) known.push(partition);
    else byTopic.set(topic, [partition]);
  }
  return byTopic;
}

/** The inverse of `partitionName`; undefined when the text has not that form. */
export function parsePartitionName(name: string): TopicPartition | undefined {
  const dash = name.lastIndexOf('-');
  if (dash <= 0) return undefined;
  const digits = name.slice(dash + 1);
  if (!/^(0|[1-9][0-9]{0,8})$/.test(digits)) return undefined;
  return { topic: name.slice(0, dash), partition: Number(digits) };
}

/** Kafka's rule for topic names. Throws INVALID_TOPIC. */
export function validateTopicName(topic: string): void {
  const problem = topicNameProblem(topic);
  if (problem) throw new TributaryError('INVALID_TOPIC', `topic name ${quoted(topic)} ${problem}`);
}

/** A name that somebody sent, for a message: as it is, or quoted and cut if no topic can have it. */
export function shownTopic(topic: string): string {
  return topicNameProblem(topic) ? quoted(topic) : topic;
}

const SHOWN_LENGTH = 60;

function quoted(name: string): string {
  return JSON.stringify(name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH)}...` : name);
}

function topicNameProblem(topic: string): string | undefined {
  if (topic === '') return 'is empty';
  if (topic === '.' || topic === '..') return 'is reserved';
  if (topic.length > MAX_TOPIC_NAME_LENGTH) {
    return `is longer than ${MAX_TOPIC_NAME_LENGTH} characters`;
  }
  if (!/^[a-zA-Z0-9._-]+$/.test(topic)) return 'has a character other than a-z A-Z 0-9 . _ -';
  return undefined;
}
