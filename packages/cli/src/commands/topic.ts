/** `trib topic create|list|describe|delete`, and what topic-offsets adds. */
import { TributaryError } from '@tributary/common';
import type { NewTopic, TopicDescription, TopicListing } from '@tributary/client';
import type { Command } from 'commander';
import { renderJson, renderTable, type Row } from '../output/render';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';
import { registerTopicOffsetCommands } from './topic-offsets';

const TOPIC_COLUMNS = ['topic', 'partitions', 'replicationFactor', 'topicId'];

interface CreateOptions extends ConnectionOptions {
  readonly partitions: string;
  readonly replicationFactor: string;
  readonly config?: readonly string[];
  readonly ifNotExists?: boolean;
}

export function registerTopicCommands(program: Command): void {
  const topic = program
    .command('topic')
    .description('create, list, describe, delete topics, trim them');

  withConnection(topic.command('create <topic>').description('create a topic'))
    .option('-p, --partitions <count>', 'count of partitions', '3')
    .option(
      '-r, --replication-factor <count>',
      'replicas of each partition (0: as the brokers are set)',
      '0',
    )
    .option('-c, --config <name=value>', 'a topic setting; may be repeated', collect)
    .option('--if-not-exists', 'succeed when the topic is there already')
    .action(runCommand(createTopic));

  withConnection(topic.command('list').description('list the topics')).action(
    runCommand(listTopics),
  );

  withConnection(topic.command('describe <topic>').description('show partitions, leaders, in-sync replicas, offsets'))
    .action(runCommand(describeTopic)); // prettier-ignore

  withConnection(topic.command('delete <topic>').description('delete a topic and its data')).action(
    runCommand(deleteTopic),
  );

  registerTopicOffsetCommands(topic);
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

async function createTopic(
  args: readonly string[],
  options: CreateOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const wanted: NewTopic = {
    topic,
    partitions: partitionCount(options.partitions),
    replicationFactor: wholeNumber(options.replicationFactor, '--replication-factor'),
    configs: parseConfigs(options.config ?? []),
  };
  const call = { timeoutMs: timeoutMsOf(options) };
  await withClient(options, command, async (client) => {
    const admin = client.admin();
    try {
      const { partitions, replicationFactor, topicId } = await admin.createTopic(wanted, call);
      const row = { topic, partitions, replicationFactor, topicId };
      print(options, row, TOPIC_COLUMNS, [row]);
    } catch (error) {
      const exists = error instanceof TributaryError && error.code === 'TOPIC_EXISTS';
      if (!exists || !options.ifNotExists) throw error;
      process.stderr.write(`topic ${topic} exists already\n`);
      const row = topicRow(await admin.describeTopic(topic, { ...call, offsets: false }));
      print(options, row, TOPIC_COLUMNS, [row]);
    }
  });
}

/** Zero would mean the brokers' default on the wire, which nobody who types it expects. */
function partitionCount(text: string): number {
  const count = wholeNumber(text, '--partitions');
  if (count > 0) return count;
  throw new TributaryError('INVALID_PARTITIONS', '--partitions 0: a topic has at least 1');
}

function topicRow(listing: TopicListing | TopicDescription) {
  const { topic, partitions, topicId } = listing;
  const replicationFactor = partitions[0]?.replicas.length ?? 0;
  return { topic, partitions: partitions.length, replicationFactor, topicId };
}

async function listTopics(
  _args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  await withClient(options, command, async (client) => {
    const topics = await client.admin().listTopics({ timeoutMs: timeoutMsOf(options) });
    const rows = topics.map(topicRow);
    rows.sort((a, b) => (a.topic < b.topic ? -1 : 1));
    print(options, rows, TOPIC_COLUMNS, rows);
  });
}

async function describeTopic(
  args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  const name = args[0] as string;
  await withClient(options, command, async (client) => {
    const described = await client.admin().describeTopic(name, { timeoutMs: timeoutMsOf(options) });
    const rows = described.partitions.map((partition) => ({
      partition: partition.partition,
      leader: partition.leader ?? null,
      leaderEpoch: partition.leaderEpoch,
      replicas: [...partition.replicas],
      isr: [...partition.isr],
      offline: partition.offlineReplicas.map(({ brokerId }) => brokerId),
      startOffset: partition.startOffset === undefined ? null : partition.startOffset.toString(),
      endOffset: partition.endOffset === undefined ? null : partition.endOffset.toString(),
    }));
    const document = {
      topic: described.topic,
      topicId: described.topicId,
      configs: described.configs,
      partitions: rows.map(({ offline: _, ...row }, index) => ({
        ...row,
        offlineReplicas: described.partitions[index]?.offlineReplicas ?? [],
      })),
    };
    if (outputFormat(options) === 'table') {
      const configs = Object.entries(described.configs).map(([key, value]) => `${key}=${value}`);
      process.stdout.write(
        `topic ${described.topic}  id ${described.topicId}  ${configs.join(' ') || 'default settings'}\n`,
      );
    }
    const someAreOffline = rows.some(({ offline }) => offline.length > 0);
    const columns = ['partition', 'leader', 'leaderEpoch', 'replicas', 'isr', 'startOffset', 'endOffset']; // prettier-ignore
    print(options, document, someAreOffline ? [...columns, 'offline'] : columns, rows);
    for (const { partition, offlineReplicas } of described.partitions) {
      for (const { brokerId, reason } of offlineReplicas) {
        process.stderr.write(
          `partition ${partition} is offline on broker ${brokerId}: ${reason}\n`,
        );
      }
    }
  });
}

async function deleteTopic(
  args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  const name = args[0] as string;
  await withClient(options, command, async (client) => {
    await client.admin().deleteTopic(name, { timeoutMs: timeoutMsOf(options) });
    if (outputFormat(options) === 'json')
      process.stdout.write(renderJson({ topic: name, deleted: true }));
    else process.stderr.write(`topic ${name} deleted\n`);
  });
}

function print(
  options: ConnectionOptions,
  document: unknown,
  columns: readonly string[],
  rows: readonly Row[],
): void {
  process.stdout.write(
    outputFormat(options) === 'json' ? renderJson(document) : renderTable(columns, rows),
  );
}

export function wholeNumber(text: string, option: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) {
    throw new TributaryError('INVALID_ARGUMENT', `${option} ${text} is not a whole number`);
  }
  return Number(text);
}

function parseConfigs(pairs: readonly string[]): Record<string, string> {
  const configs: Record<string, string> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals <= 0) {
      throw new TributaryError('INVALID_ARGUMENT', `--config ${pair} has not the form name=value`);
    }
    configs[pair.slice(0, equals)] = pair.slice(equals + 1);
  }
  return configs;
}
