/** The texts of --print-config and --help. Nothing secret is among the settings. Pure. */
import type { ConfigSources } from './load-config';
import { formatEndpoint, type ZooKeeperAddress } from './endpoints';
import { flagName, settingName, settingNames, settingsSchema, variableName } from './settings';
import type { BrokerConfig } from './settings';

export function printConfig(config: BrokerConfig, sources: ConfigSources): string {
  return settingNames
    .map((name) => {
      const source = sources[name] ?? 'default';
      return `${settingName(name)}=${formatValue(config[name])}  # ${source}`;
    })
    .join('\n');
}

export function printHelp(): string {
  const rows = settingNames.map((name) => {
    const { description } = settingsSchema.shape[name];
    return `  --${flagName(name).padEnd(30)} ${variableName(name).padEnd(40)} ${description ?? ''}`;
  });
  return [
    'Runs one Tributary broker. Flags win over environment variables.',
    '',
    ...rows,
    '',
    '  --check-config   checks the settings and exits',
    '  --print-config   prints every setting, and where its value comes from, and exits',
    '  --version        prints the version and exits',
    '',
    'Exit codes: 0 stopped orderly, 1 failure, 2 invalid settings, 4 something is in use (broker id,',
    'port, data directory) or belongs to another cluster, 6 ZooKeeper or disk not available.',
  ].join('\n');
}

function formatValue(value: BrokerConfig[keyof BrokerConfig]): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) {
    return value.map((one) => (typeof one === 'string' ? one : formatEndpoint(one))).join(',');
  }
  if (typeof value === 'object') return formatZooKeeper(value);
  return String(value);
}

export function formatZooKeeper(address: ZooKeeperAddress): string {
  return `${address.servers}${address.chroot}`;
}
