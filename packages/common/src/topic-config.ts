/**
 * The settings of a topic: names, defaults, bounds, in one table. Stored as strings in the coordinator
 * (`/config/topics/T`), sent as strings to brokers, parsed here. Admin handlers validate with it, brokers
 * and logs read the parsed form; the table in docs/topic-config.md is compared with it by a test.
 */
import { TributaryError } from './tributary-error';

/** `os`: the page cache, safe from the death of every process, not of the power. `sync`: on the device before it counts. */
export type FlushMode = 'os' | 'sync';
export type CleanupPolicy = 'delete' | 'compact' | 'compact,delete';

export interface TopicConfig {
  /** Replicas, the leader included, that must have a record before acks=all is answered. Default min(2, RF). */
  readonly minInsyncReplicas: number;
  /** Largest batch as stored. Default 1 MiB + 12. */
  readonly maxMessageBytes: number;
  /** When an append counts, for the high watermark and for acks. Default `os`. */
  readonly flush: FlushMode;
  /** A segment file is rolled before it would grow beyond this. Default 1 GiB. */
  readonly segmentBytes: number;
  /** A segment is rolled when its first record is older than this, less a jitter. Default 7 days. */
  readonly segmentMs: number;
  /** At most this much is taken off `segmentMs`, at random for each segment. Default 0. */
  readonly segmentJitterMs: number;
  /** A segment is rolled before its offset or time index would grow beyond this. Default 10 MiB. */
  readonly segmentIndexBytes: number;
  readonly cleanupPolicy: CleanupPolicy;
  /** Segments whose newest record is older are deleted; -1: kept. Default 7 days. */
  readonly retentionMs: number;
  /** The oldest segments are deleted while the log without them is still this large; -1: kept. Default -1. */
  readonly retentionBytes: number;
  /** A tombstone stays for so long after compaction first passed it. Default 24 h. */
  readonly deleteRetentionMs: number;
  /** Records younger than this are not compacted. Default 0. */
  readonly minCompactionLagMs: number;
  /** A record that is older than this makes its log due for compaction, however clean. Default 2^53 - 1: never. */
  readonly maxCompactionLagMs: number;
  /** Share of bytes not compacted yet from which on a log is due. Default 0.5. */
  readonly minCleanableDirtyRatio: number;
  /** Where no complete replica is left, one that lacks committed records leads at once. Default false. */
  readonly uncleanLeaderElection: boolean;
}

type Field = keyof TopicConfig;

interface Setting {
  readonly field: Field;
  /** As a person writes it. */
  readonly default: string;
  /** Shown in messages: what may be written. */
  readonly allowed: string;
  readonly description: string;
  /** undefined: not allowed. */
  parse(text: string): TopicConfig[Field] | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const FOREVER = Number.MAX_SAFE_INTEGER;

interface Range {
  readonly min: number;
  readonly max: number;
}

function whole(field: Field, fallback: number | string, { min, max }: Range, description: string) {
  const pattern = min < 0 ? /^-?[0-9]{1,16}$/ : /^[0-9]{1,16}$/;
  return {
    field,
    default: String(fallback),
    allowed: `a whole number from ${min} to ${max}`,
    description,
    parse(text: string) {
      const value = pattern.test(text) ? Number(text) : NaN;
      return value >= min && value <= max ? value : undefined;
    },
  };
}

function share(field: Field, fallback: number, description: string) {
  return {
    field,
    default: String(fallback),
    allowed: 'a number from 0 to 1',
    description,
    parse: (text: string) =>
      /^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$/.test(text) ? Number(text) : undefined,
  };
}

function yesOrNo(field: Field, fallback: boolean, description: string) {
  return {
    field,
    default: String(fallback),
    allowed: 'true or false',
    description,
    parse: (text: string) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  };
}

function oneOf<T extends FlushMode | CleanupPolicy>(
  field: Field,
  values: readonly [T, ...T[]],
  description: string,
) {
  return {
    field,
    default: values[0] as string,
    allowed: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
    description,
    parse: (text: string) => values.find((value) => value === text),
  };
}

export const topicSettings: Readonly<Record<string, Setting>> = {
  'cleanup.policy': oneOf(
    'cleanupPolicy',
    ['delete', 'compact', 'compact,delete'],
    'old records go: by age and size, by key, or both',
  ),
  'delete.retention.ms': whole(
    'deleteRetentionMs',
    DAY_MS,
    { min: 0, max: FOREVER },
    'how long a tombstone stays after compaction first passed it',
  ),
  flush: oneOf(
    'flush',
    ['os', 'sync'],
    'os: an append counts once it is in the page cache; sync: once it is on the device',
  ),
  'max.compaction.lag.ms': whole(
    'maxCompactionLagMs',
    FOREVER,
    { min: 1, max: FOREVER },
    'a record older than this makes its log due for compaction, however clean',
  ),
  'max.message.bytes': whole(
    'maxMessageBytes',
    1024 * 1024 + 12,
    { min: 100, max: 64 * 1024 * 1024 },
    'largest batch as stored',
  ),
  'min.cleanable.dirty.ratio': share(
    'minCleanableDirtyRatio',
    0.5,
    'share of bytes not compacted yet from which on a log is due for compaction',
  ),
  'min.compaction.lag.ms': whole(
    'minCompactionLagMs',
    0,
    { min: 0, max: FOREVER },
    'records younger than this are not compacted',
  ),
  'min.insync.replicas': whole(
    'minInsyncReplicas',
    'min(2, RF)',
    { min: 1, max: 100 },
    'replicas that must have a record before acks=all is answered',
  ),
  'retention.bytes': whole(
    'retentionBytes',
    -1,
    { min: -1, max: FOREVER },
    'the oldest segments go while the partition without them is still this large; -1: no limit',
  ),
  'retention.ms': whole(
    'retentionMs',
    7 * DAY_MS,
    { min: -1, max: FOREVER },
    'segments whose newest record is older go; -1: no limit',
  ),
  'segment.bytes': whole(
    'segmentBytes',
    2 ** 30,
    { min: 1024, max: 2 ** 30 },
    'size at which a segment file is rolled',
  ),
  'segment.index.bytes': whole(
    'segmentIndexBytes',
    10 * 1024 * 1024,
    { min: 48, max: 64 * 1024 * 1024 },
    'size of an index at which a segment is rolled',
  ),
  'segment.jitter.ms': whole(
    'segmentJitterMs',
    0,
    { min: 0, max: FOREVER },
    'at most so much is taken off segment.ms, at random for each segment',
  ),
  'segment.ms': whole(
    'segmentMs',
    7 * DAY_MS,
    { min: 1, max: FOREVER },
    'age of its first record at which a segment is rolled',
  ),
  'unclean.leader.election.enable': yesOrNo(
    'uncleanLeaderElection',
    false,
    'true: where no complete replica is left another one leads at once, and committed records may be lost',
  ),
};

/** Throws INVALID_CONFIG for an unknown name or a value out of bounds. */
export function parseTopicConfig(
  configs: Readonly<Record<string, string>>,
  replicationFactor: number,
): TopicConfig {
  const values: Partial<Record<Field, TopicConfig[Field]>> = {};
  for (const setting of Object.values(topicSettings)) {
    values[setting.field] = setting.parse(setting.default) ?? Math.min(2, replicationFactor);
  }
  for (const [name, text] of Object.entries(configs)) {
    const setting = Object.hasOwn(topicSettings, name) ? topicSettings[name] : undefined;
    if (!setting) throw unknownSetting(name);
    const value = setting.parse(text);
    if (value === undefined) {
      throw new TributaryError(
        'INVALID_CONFIG',
        `topic setting ${name}=${shown(text)} is not ${setting.allowed}`,
      );
    }
    values[setting.field] = value;
  }
  const config = values as unknown as TopicConfig;
  if (config.minCompactionLagMs > config.maxCompactionLagMs) {
    throw new TributaryError(
      'INVALID_CONFIG',
      `topic setting min.compaction.lag.ms=${config.minCompactionLagMs} is above max.compaction.lag.ms=${config.maxCompactionLagMs}`,
    );
  }
  return config;
}

/** Of a topic with one replica and no settings of its own. */
export const defaultTopicConfig: TopicConfig = parseTopicConfig({}, 1);

function unknownSetting(name: string): TributaryError {
  const known = Object.keys(topicSettings).join(', ');
  return new TributaryError('INVALID_CONFIG', `topic setting ${shown(name)} does not exist`, {
    hint: `The settings are: ${known}.`,
  });
}

const SHOWN_LENGTH = 60;

function shown(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}...` : text;
}
