/**
 * The settings of a broker that may be altered while it runs: names, bounds, defaults, in one closed table. Stored as
 * strings in the coordinator (`/config/brokers/ID`), told by the controller, applied by the broker; the table in
 * docs/broker-config.md is compared with it by a test. What is not here is given at the start and stays.
 */
import { TributaryError } from './tributary-error';

export interface BrokerConfig {
  /** Pushed per second to all followers that catch up from this broker, and taken in where it catches up. */
  readonly catchUpBytesPerSecond: number;
  /** Read and written per second by compaction, on each log directory. */
  readonly compactionBytesPerSecond: number;
  /** Largest answer to one fetch request. */
  readonly maxFetchBytes: number;
  /** Batches of produce requests that are not answered yet. */
  readonly maxInFlightBytes: number;
  readonly replicaLagTimeMaxMs: number;
}

interface BrokerSetting {
  readonly field: keyof BrokerConfig;
  /** automatic: the broker finds its own. */
  readonly default: number | 'automatic';
  readonly min: number;
  readonly max: number;
  readonly description: string;
}

const MIB = 1024 * 1024;

export const brokerSettings: Readonly<Record<string, BrokerSetting>> = {
  'compaction.bytes.per.second': {
    field: 'compactionBytesPerSecond',
    default: 32 * MIB,
    min: 1024,
    max: 2 ** 40,
    description: 'what compaction reads and writes per second, on each log directory',
  },
  'fetch.max.bytes': {
    field: 'maxFetchBytes',
    default: 8 * MIB,
    min: 1024,
    max: 64 * MIB,
    description: 'largest answer to one fetch request; a batch that is larger is sent whole',
  },
  'produce.max.in.flight.bytes': {
    field: 'maxInFlightBytes',
    default: 256 * MIB,
    min: MIB,
    max: 2 ** 40,
    description:
      'batches of produce requests that may be unanswered; beyond it producers are refused',
  },
  'replica.lag.time.max.ms': {
    field: 'replicaLagTimeMaxMs',
    default: 10_000,
    min: 100,
    max: 3_600_000,
    description: 'a follower of this leader that was not caught up for so long leaves the ISR',
  },
  'replication.catch.up.bytes.per.second': {
    field: 'catchUpBytesPerSecond',
    default: 'automatic',
    min: 1024,
    max: 2 ** 40,
    description:
      'what this broker pushes per second to all replicas that catch up from it, and again what it takes in; automatic: a moderate rate that gives way to other work (ADR 19)',
  },
};

/** Only what is named. Throws INVALID_CONFIG for an unknown name or a value out of bounds. */
export function parseBrokerConfig(
  configs: Readonly<Record<string, string>>,
): Partial<BrokerConfig> {
  const entries = Object.entries(configs).map(([name, text]) => {
    const { field, min, max } = brokerSetting(name);
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}...` : text;
      const message = `broker setting ${name}=${shown} is not a whole number from ${min} to ${max}`;
      throw new TributaryError('INVALID_CONFIG', message);
    }
    return [field, value] as const;
  });
  return Object.fromEntries(entries);
}

const SHOWN_LENGTH = 60;

/** Throws INVALID_CONFIG where no setting of that name may be altered. */
export function brokerSetting(name: string): BrokerSetting {
  const setting = Object.hasOwn(brokerSettings, name) ? brokerSettings[name] : undefined;
  if (setting) return setting;
  const message = `broker setting ${name.slice(0, SHOWN_LENGTH)} cannot be altered while a broker runs`;
  const known = Object.keys(brokerSettings).join(', ');
  // Some have a longer name where they are given at the start: log.compaction.bytes.per.second.
  const meant = Object.keys(brokerSettings).find((one) => name.endsWith(`.${one}`));
  const hint = `${meant === undefined ? '' : `While it runs it is ${meant}. `}Those that can be: ${known}.`;
  throw new TributaryError('INVALID_CONFIG', message, { hint });
}
