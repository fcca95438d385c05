/** `trib topic alter|elect`. */
import type { Client, NamedPartition } from '@tributary/client';
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { collect, parseConfigs, wholeNumber } from './arguments';
import { timeoutMsOf, withClient, withConnection, type ConnectionOptions } from './connection';
import { printPartitionResults, printResult } from './print-result';
import { runCommand } from './run-command';
import { uncleanRefusal } from './unclean-election';

interface AlterOptions extends ConnectionOptions {
  readonly config?: readonly string[];
  readonly removeConfig?: readonly string[];
  readonly partitions?: string;
  readonly dryRun?: boolean;
}

interface ElectOptions extends ConnectionOptions {
  readonly partition?: string;
  readonly unclean?: boolean;
  readonly yes?: boolean;
}

export function registerTopicAlterCommands(topic: Command): void {
  withConnection(topic.command('alter <topic>').description('change settings, add partitions'))
    .option('-c, --config <name=value>', 'a topic setting; may be repeated', collect)
    .option('--remove-config <name>', 'back to its default; may be repeated', collect)
    .option('-p, --partitions <count>', 'in all: only ever more')
    .option('--dry-run', 'check everything, change nothing')
    .action(runCommand(alterTopic));

  withConnection(topic.command('elect [topic]').description('give leaderships back to the preferred replicas'))
    .option('-p, --partition <number>', 'only this partition')
    .option('--unclean', 'let a replica lead that lacks committed records, where nobody in sync is left')
    .option('--yes', 'those records may be gone for good')
    .action(runCommand(electLeaders)); // prettier-ignore
}

async function alterTopic(
  args: readonly string[],
  options: AlterOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const { partitions, dryRun = false } = options;
  const alteration = {
    setConfigs: parseConfigs(options.config ?? []),
    removeConfigs: options.removeConfig ?? [],
    ...(partitions === undefined ? {} : { partitions: addedTo(partitions) }),
  };
  await withClient(options, command, async (client) => {
    const call = { timeoutMs: timeoutMsOf(options), validateOnly: dryRun };
    const altered = await client.admin().alterTopic(topic, alteration, call);
    const configs = Object.entries(altered.configs).map(([name, value]) => `${name}=${value}`);
    const row = { topic, partitions: altered.partitions, topicId: altered.topicId, configs };
    printResult(options, altered, ['topic', 'partitions', 'topicId', 'configs'], [row]);
    if (dryRun) process.stderr.write('nothing was changed (--dry-run)\n');
  });
}

/** Zero would mean "as they are" on the wire, which nobody who types it expects. */
function addedTo(text: string): number {
  const count = wholeNumber(text, '--partitions');
  if (count > 0) return count;
  throw new TributaryError('INVALID_PARTITIONS', '--partitions 0: a topic has at least 1');
}

async function electLeaders(
  args: readonly string[],
  options: ElectOptions,
  command: Command,
): Promise<void> {
  const topic = args[0];
  const { unclean = false, yes = false } = options;
  const partition =
    options.partition === undefined ? undefined : wholeNumber(options.partition, '--partition');
  if (topic === undefined && (partition !== undefined || unclean)) {
    const flag = unclean ? '--unclean' : '--partition';
    throw new TributaryError('INVALID_ARGUMENT', `${flag} needs the name of the topic`);
  }
  const timeoutMs = timeoutMsOf(options);
  await withClient(options, command, async (client) => {
    const partitions = await wanted(client, { topic, partition, unclean, timeoutMs });
    if (partitions?.length === 0) {
      process.stderr.write(`nothing to elect in topic ${topic}\n`);
      return printPartitionResults(options, [], 'elected');
    }
    if (unclean && !yes && topic !== undefined) {
      throw await unconfirmed(client, topic, partition, timeoutMs);
    }
    const kind = unclean ? 'unclean' : 'preferred';
    const election = { kind, timeoutMs, ...(partitions ? { partitions } : {}) } as const;
    printPartitionResults(options, await client.admin().electLeaders(election), 'elected');
  });
}

interface Election {
  readonly topic: string | undefined;
  readonly partition: number | undefined;
  readonly unclean: boolean;
  readonly timeoutMs: number;
}

/** undefined: all that need it. Of a topic: those that have no leader, or another one than the preferred. */
async function wanted(
  client: Client,
  { topic, partition, unclean, timeoutMs }: Election,
): Promise<NamedPartition[] | undefined> {
  if (topic === undefined) return undefined;
  if (partition !== undefined) return [{ topic, partition }];
  const { partitions } = await client.admin().describeTopic(topic, { timeoutMs, offsets: false });
  return partitions
    .filter(({ leader, replicas }) => (unclean ? leader === undefined : leader !== replicas[0]))
    .map((one) => ({ topic, partition: one.partition }));
}

/** Looks before anything is asked of the controller. */
async function unconfirmed(
  client: Client,
  topic: string,
  partition: number | undefined,
  timeoutMs: number,
): Promise<TributaryError> {
  const described = await client.admin().describeTopic(topic, { timeoutMs, offsets: false });
  const brokers = await client.admin().describeBrokers({ timeoutMs });
  const live = brokers.filter(({ registered, eligible }) => registered && eligible);
  return uncleanRefusal(described, partition, new Set(live.map(({ brokerId }) => brokerId)));
}
