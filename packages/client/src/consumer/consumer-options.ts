/**
 * What a consumer may be told, checked at once when it is made, with defaults. Every limit has a name and a
 * unit here.
 */
import { TributaryError, validateTopicName, type TopicPartition } from '@tributary/common';
import { Problems } from '../config-problems';
import { bytes, type Serde } from '../serde';

export type StartPosition = 'earliest' | 'latest';
/** Where to go when there is no position, or it does not exist (any more); 'fail': reading throws OFFSET_OUT_OF_RANGE. */
export type PositionPolicy = StartPosition | 'fail';

export type Deserializer<T> = Pick<Serde<T>, 'deserialize'>;

export interface AssignedStart extends TopicPartition {
  /** Default: `from`. */
  readonly offset?: bigint | number | StartPosition;
}

export interface ConsumerOptions<K = Uint8Array, V = Uint8Array> {
  /** Member of this group: partitions are shared out, offsets can be committed. */
  readonly group?: string;
  /** Without a group: all partitions of these topics. */
  readonly topics?: readonly string[];
  /** Instead of `topics`, without a group: exactly these. */
  readonly assign?: readonly AssignedStart[];
  /** Start where nothing was committed. Default 'earliest': nothing is missed. */
  readonly from?: PositionPolicy;
  /** The position is outside the log: retention removed it, or it was truncated. Default 'fail'. */
  readonly onOutOfRange?: PositionPolicy;
  readonly key?: Deserializer<K>;
  readonly value?: Deserializer<V>;
  /** Of one fetch, over all its partitions. Default 4 MiB. */
  readonly maxBytes?: number;
  /** Of one partition in one fetch. Default 1 MiB. */
  readonly maxPartitionBytes?: number;
  /** A fetch that finds nothing is answered after this. Default 500. */
  readonly maxWaitMs?: number;
  /** A fetch waits for this much, within maxWaitMs. Default 1. */
  readonly minBytes?: number;
  /** Fetched ahead, over all partitions. Default 32 MiB. */
  readonly maxBufferedBytes?: number;
  /** Commit what is consumed from time to time, and before partitions go. Default false. */
  readonly autoCommit?: false | { readonly intervalMs?: number };
  /** How long the group waits for a member that fell silent. Default 10 s. */
  readonly sessionTimeoutMs?: number;
  /** How long a record in hand may hold up the release of its partition, and a group may stay unassigned. Default 30 s. */
  readonly rebalanceTimeoutMs?: number;
  /** The only one so far. */
  readonly assignor?: 'range';
}

export interface ConsumerSettings<K, V> {
  readonly group: string | undefined;
  readonly topics: readonly string[];
  readonly assign: readonly AssignedStart[] | undefined;
  readonly from: PositionPolicy;
  readonly onOutOfRange: PositionPolicy;
  readonly key: Deserializer<K>;
  readonly value: Deserializer<V>;
  readonly maxBytes: number;
  readonly maxPartitionBytes: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBufferedBytes: number;
  /** undefined: commits are the user's. */
  readonly autoCommitIntervalMs: number | undefined;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
}

/** Topics of one consumer, and partitions of a manual assignment. */
export const MAX_SUBSCRIPTIONS = 10_000;
const GROUP_NAME_MAX_LENGTH = 249;

const KNOWN = new Set<string>([
  'group',
  'topics',
  'assign',
  'from',
  'onOutOfRange',
  'key',
  'value',
  'maxBytes',
  'maxPartitionBytes',
  'maxWaitMs',
  'minBytes',
  'maxBufferedBytes',
  'autoCommit',
  'sessionTimeoutMs',
  'rebalanceTimeoutMs',
  'assignor',
] satisfies (keyof ConsumerOptions)[]);

/** Throws INVALID_CONFIG for a setting that does not exist; INVALID_ARGUMENT, INVALID_TOPIC. */
export function consumerSettings<K, V>(options: ConsumerOptions<K, V>): ConsumerSettings<K, V> {
  const problems = new Problems();
  problems.unknownSettings(options, KNOWN);
  problems.throwIfAny('the consumer');
  const { group, topics, assign } = options;
  if ((topics === undefined) === (assign === undefined)) {
    throw invalid('give a consumer either topics or assign');
  }
  if (group !== undefined && assign !== undefined) {
    throw invalid('assign and group exclude each other: a group shares out its topics itself');
  }
  if (group !== undefined) checkGroupName(group);
  for (const list of [topics, assign] as readonly unknown[]) {
    if (list !== undefined && !Array.isArray(list)) throw invalid('topics and assign are lists');
  }
  const wanted = topics ?? assign?.map(({ topic }) => topic) ?? [];
  if (wanted.length === 0 || wanted.length > MAX_SUBSCRIPTIONS) {
    throw invalid(
      `a consumer reads 1 to ${MAX_SUBSCRIPTIONS} topics or partitions, not ${wanted.length}`,
    );
  }
  for (const topic of wanted) validateTopicName(topic);
  for (const { topic, partition, offset } of assign ?? []) {
    if (!Number.isSafeInteger(partition) || partition < 0) {
      throw invalid(`${partition} is not a partition of topic ${topic}`);
    }
    if (typeof offset === 'string') choice('offset', offset, ['earliest', 'latest'], offset);
    else if (offset !== undefined) safeOffset(offset);
  }
  const auto = options.autoCommit;
  if (auto && group === undefined) throw invalid('autoCommit needs a group');
  const raw = bytes() as unknown;
  return {
    group,
    topics: [...new Set(topics ?? [])],
    assign,
    from: choice('from', options.from, ['earliest', 'latest', 'fail'], 'earliest'),
    onOutOfRange: choice(
      'onOutOfRange',
      options.onOutOfRange,
      ['earliest', 'latest', 'fail'],
      'fail',
    ),
    key: options.key ?? (raw as Deserializer<K>),
    value: options.value ?? (raw as Deserializer<V>),
    maxBytes: whole('maxBytes', options.maxBytes ?? 4 * 1024 * 1024, 1024),
    maxPartitionBytes: whole('maxPartitionBytes', options.maxPartitionBytes ?? 1024 * 1024, 1024),
    maxWaitMs: whole('maxWaitMs', options.maxWaitMs ?? 500, 0),
    minBytes: whole('minBytes', options.minBytes ?? 1, 0),
    maxBufferedBytes: whole('maxBufferedBytes', options.maxBufferedBytes ?? 32 * 1024 * 1024, 1024),
    autoCommitIntervalMs: auto
      ? whole('autoCommit.intervalMs', auto.intervalMs ?? 5_000, 10)
      : undefined,
    sessionTimeoutMs: whole('sessionTimeoutMs', options.sessionTimeoutMs ?? 10_000, 1_000),
    rebalanceTimeoutMs: whole('rebalanceTimeoutMs', options.rebalanceTimeoutMs ?? 30_000, 100),
  };
}

export function invalid(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message);
}

/** Throws INVALID_ARGUMENT. */
export function safeOffset(offset: bigint | number): number {
  const value = Number(offset);
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`${offset} is not an offset`);
  return value;
}

/** A group name is a znode name too: no slash. */
function checkGroupName(group: string): void {
  if (
    !/^[a-zA-Z0-9._-]+$/.test(group) ||
    group.length > GROUP_NAME_MAX_LENGTH ||
    /^\.+$/.test(group)
  ) {
    throw invalid(
      `group name ${JSON.stringify(group.slice(0, 60))} must be 1 to ${GROUP_NAME_MAX_LENGTH} of the characters a-z A-Z 0-9 . _ -`,
    );
  }
}

function whole(name: string, value: number, min: number): number {
  if (!Number.isSafeInteger(value) || value < min || value > 2 ** 31 - 1) {
    throw invalid(`${name} must be a whole number from ${min} to ${2 ** 31 - 1}, not ${value}`);
  }
  return value;
}

function choice<T extends string>(
  name: string,
  value: T | undefined,
  allowed: readonly T[],
  standard: T,
): T {
  if (value === undefined) return standard;
  if (!allowed.includes(value)) {
    throw invalid(`${name} must be one of ${allowed.join(', ')}, not ${String(value)}`);
  }
  return value;
}
