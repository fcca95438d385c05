/**
 * Every setting of a broker process, in one schema: type, bounds, default, description. The names of flag
 * and environment variable are derived from the field (`brokerId`: `--broker-id`, `TRIBUTARY_BROKER_ID`), so
 * that they cannot drift apart. Called by `load-config.ts` and by what prints the settings.
 */
import { defaultCompactionLimits } from '@tributary/log';
import { z } from 'zod';
import { parseDirectories } from './directories';
import { parseListeners, parseZooKeeper } from './endpoints';

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

const oneOf = <T extends string>(...values: [T, ...T[]]) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

const text = z.string().min(1, 'must not be empty');

/** Wraps a parser that throws: its message becomes the problem's. */
const parsed = <T>(parse: (value: string) => T) =>
  z.string().transform((value, context): T => {
    try {
      return parse(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });

export const settingsSchema = z.object({
  brokerId: whole(0, 2 ** 31 - 1).describe('id of this broker, unique in its cluster; required'),
  dataDir: text.describe('directory for this broker alone; required'),
  logDirs: parsed(parseDirectories)
    .optional()
    .describe('DIR[,DIR...] of the logs, each on a disk of its own; default: data.dir'),
  zookeeper: parsed(parseZooKeeper).describe('host:port[,host:port...][/chroot]; required'),
  listeners: parsed(parseListeners)
    .default(() => parseListeners('outside://127.0.0.1:9292'))
    .describe('NAME://HOST:PORT[,...] to bind; brokers prefer "inside", clients "outside"'),
  advertisedListeners: parsed(parseListeners)
    .optional()
    .describe('NAME://HOST:PORT[,...] that others connect to; default: listeners'),
  httpHost: text.default('127.0.0.1').describe('address for /livez, /readyz, /metrics, /version'),
  httpPort: whole(0, 65535).default(9392).describe('port of the same; 0: a free one'),
  rack: text.optional().describe('where this broker stands; replicas are spread over racks'),
  zookeeperSessionTimeoutMs: whole(1000, 300_000)
    .default(10_000)
    .describe('silence after which ZooKeeper ends the session of this broker'),
  startTimeoutMs: whole(1000, 3_600_000)
    .default(30_000)
    .describe('how long the start waits for ZooKeeper before it gives up'),
  shutdownTimeoutMs: whole(0, 600_000)
    .default(1500)
    .describe('how long a stop may take to hand over leaderships'),
  zombieGraceMs: whole(1000, 3_600_000)
    .default(10_000)
    .describe('acks 0 and 1 are refused after ZooKeeper and controller were silent for this long'),
  replicationCatchUpBytesPerSecond: whole(1024, 2 ** 40)
    .optional()
    .describe(
      'what this broker sends to replicas far behind, and takes in as one; default: a moderate rate',
    ),
  logMaintenanceIntervalMs: whole(100, 3_600_000)
    .default(30_000)
    .describe('how often retention and compaction look at the logs'),
  logCompactionKeyMapBytes: whole(1024, 2 ** 32)
    .default(defaultCompactionLimits.maxKeyMapBytes)
    .describe('memory for the keys of one pass of compaction, per log directory; 24 bytes a key'),
  logCompactionBytesPerSecond: whole(1024, 10 ** 12)
    .default(defaultCompactionLimits.maxCompactionBytesPerSecond)
    .describe('what compaction reads and writes at the most, per log directory'),
  maxInflatedBatchBytes: whole(1024, 2 ** 31 - 1)
    .default(defaultCompactionLimits.maxInflatedBytes)
    .describe('a batch that would inflate to more is refused, and not compacted'),
  producerIdExpirationMs: whole(1000, 10 ** 12)
    .default(24 * 60 * 60 * 1000)
    .describe('an idempotent producer that is silent for this long is forgotten'),
  logLevel: oneOf('debug', 'info', 'warn', 'error').default('info').describe('least level logged'),
  logFormat: oneOf('auto', 'json', 'text')
    .default('auto')
    .describe('json: one object a line; text: for people; auto: text on a terminal'),
  dieWithParent: whole(1, 2 ** 31 - 1)
    .optional()
    .describe('exit as soon as the process with this pid is no longer the parent'),
});

export type BrokerConfig = z.output<typeof settingsSchema>;

export const settingNames = Object.keys(settingsSchema.shape) as (keyof BrokerConfig)[];

/** `brokerId` -> `broker-id` */
export function flagName(setting: string): string {
  return setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `brokerId` -> `TRIBUTARY_BROKER_ID` */
export function variableName(setting: string): string {
  return `TRIBUTARY_${flagName(setting).replaceAll('-', '_').toUpperCase()}`;
}

/** `brokerId` -> `broker.id`: how documents and messages name it. */
export function settingName(setting: string): string {
  return flagName(setting).replaceAll('-', '.');
}
