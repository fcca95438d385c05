/**
 * The settings of a topic: names, defaults, bounds, in one table. Stored as strings in the coordinator
 * (`/config/topics/T`), sent as strings to brokers, parsed here. Admin handlers validate with it, brokers
 * and logs read the parsed form; `docs/topic-config.md` is printed from it.
 */
import { TributaryError } from './tributary-error';

export interface TopicConfig {
  /** Replicas, the leader included, that must have a record before acks=all is answered. Default min(2, RF). */
  readonly minInsyncReplicas: number;
  /** A segment file is rolled before it would grow beyond this. Default 1 GiB. */
  readonly segmentBytes: number;
  /** Largest batch as stored. Default 1 MiB + 12. */
  readonly maxMessageBytes: number;
}

interface Setting {
  readonly field: keyof TopicConfig;
  readonly min: number;
  readonly max: number;
  readonly description: string;
}

export const topicSettings: Readonly<Record<string, Setting>> = {
  'min.insync.replicas': {
    field: 'minInsyncReplicas',
    min: 1,
    max: 100,
    description: 'replicas that must have a record before acks=all is answered; default min(2, RF)',
  },
  'segment.bytes': {
    field: 'segmentBytes',
    min: 1024,
    max: 2 ** 30,
    description: 'size at which a segment file is rolled; default 1073741824',
  },
  'max.message.bytes': {
    field: 'maxMessageBytes',
    min: 100,
    max: 64 * 1024 * 1024,
    description: 'largest batch as stored; default 1048588',
  },
};

/** Throws INVALID_CONFIG for an unknown name or a value out of bounds. */
export function parseTopicConfig(
  configs: Readonly<Record<string, string>>,
  replicationFactor: number,
): TopicConfig {
  const values: { -readonly [K in keyof TopicConfig]: number } = {
    minInsyncReplicas: Math.min(2, replicationFactor),
    segmentBytes: 2 ** 30,
    maxMessageBytes: 1024 * 1024 + 12,
  };
  for (const [name, text] of Object.entries(configs)) {
    const setting = Object.hasOwn(topicSettings, name) ? topicSettings[name] : undefined;
    if (!setting) {
      const known = Object.keys(topicSettings).join(', ');
      throw new TributaryError('INVALID_CONFIG', `topic setting ${shown(name)} does not exist`, {
        hint: `The settings are: ${known}.`,
      });
    }
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= setting.min && value <= setting.max)) {
      throw new TributaryError(
        'INVALID_CONFIG',
        `topic setting ${name}=${shown(text)} is not a whole number from ${setting.min} to ${setting.max}`,
      );
    }
    values[setting.field] = value;
  }
  return values;
}

const SHOWN_LENGTH = 60;

function shown(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}...` : text;
}
