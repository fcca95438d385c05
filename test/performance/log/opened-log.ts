/** A log as a broker has it, in a directory of its own: opened, found or created. */
import {
  defaultTopicConfig,
  silentLogger,
  systemClock,
  systemRandom,
  type TopicConfig,
} from '@tributary/common';
import { LogDirectory, NodeDisk, type PartitionLog } from '@tributary/log';

export const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

export interface OpenedLog {
  readonly log: PartitionLog;
  close(): Promise<void>;
}

export function openDirectory(
  directory: string,
  config: TopicConfig = defaultTopicConfig,
): Promise<LogDirectory> {
  return LogDirectory.open({
    disk: new NodeDisk(),
    directory,
    brokerId: 1,
    clusterId: 'bench',
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    configFor: () => config,
  });
}

export async function openLog(
  directory: string,
  settings: Partial<TopicConfig> = {},
): Promise<OpenedLog> {
  const config = { ...defaultTopicConfig, ...settings };
  const store = await openDirectory(directory, config);
  const log = store.get(TOPIC_ID, 0) ?? (await store.create('bench', TOPIC_ID, 0, config));
  return { log, close: () => store.close({ clean: true, brokerEpoch: 1 }) };
}

/** The one segment file of such a log that begins at 0. */
export function firstSegment(directory: string): string {
  return `${directory}/bench-0/00000000000000000000.log`;
}
