/**
 * The limits of the data plane as they are in force: as configured at the start, but for what was altered since. Invariant:
 * `limits` is one object for the whole life, so that whoever holds it sees the present values. Called by ReplicaManager
 * with each image.
 */
import { parseBrokerConfig, type BrokerConfig, type Logger } from '@tributary/common';
import type { LogStore } from '@tributary/log';
import { defaultDataLimits, type DataLimits } from './data-limits';

type Writable = { -readonly [Field in keyof DataLimits]: DataLimits[Field] };

export interface LiveSettingsHost {
  /** As the broker was started with; the defaults where they are left out. */
  readonly limits?: Partial<DataLimits> | undefined;
  readonly logStore: Pick<LogStore, 'setCompactionRate'>;
  readonly logger: Logger;
}

export class LiveSettings {
  readonly limits: DataLimits;
  private readonly writable: Writable;
  private readonly configured: DataLimits;
  private applied: Readonly<Record<string, string>> = {};

  constructor(
    private readonly host: LiveSettingsHost,
    /** See ReplicaHost. */
    private readonly setCatchUpRate: (bytesPerSecond: number | undefined) => void,
  ) {
    this.configured = { ...defaultDataLimits, ...host.limits };
    this.writable = { ...this.configured };
    this.limits = this.writable;
  }

  /**
   * What this broker's own entry in the image says; undefined: it has none now, and nothing changes. True: something did.
   */
  apply(configs: Readonly<Record<string, string>> | undefined): boolean {
    if (!configs || isSame(configs, this.applied)) return false;
    this.applied = configs;
    const altered = knownOnes(configs);
    const { configured, writable, host } = this;
    writable.maxFetchBytes = altered.maxFetchBytes ?? configured.maxFetchBytes;
    writable.maxInFlightBytes = altered.maxInFlightBytes ?? configured.maxInFlightBytes;
    writable.replicaLagTimeMaxMs = altered.replicaLagTimeMaxMs ?? configured.replicaLagTimeMaxMs;
    writable.catchUpBytesPerSecond =
      altered.catchUpBytesPerSecond ?? configured.catchUpBytesPerSecond;
    this.setCatchUpRate(writable.catchUpBytesPerSecond);
    host.logStore.setCompactionRate(altered.compactionBytesPerSecond);
    host.logger.info('broker settings in force', { altered: { ...configs } });
    return true;
  }
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The controller has checked them; one of a newer version is left out. */
function knownOnes(configs: Readonly<Record<string, string>>): Partial<BrokerConfig> {
  const known = Object.entries(configs).map(([name, text]) => {
    try {
      return parseBrokerConfig({ [name]: text });
    } catch {
      return {};
    }
  });
  return Object.assign({}, ...known) as Partial<BrokerConfig>;
}
