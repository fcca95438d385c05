/** `trib topic create|list|describe|delete`, and what the other files of this noun add. */
import { TributaryError } from '@tributary/common';
import type { NewTopic, TopicDescription, TopicListing } from '@tributary/client';
import type { Command } from 'commander';
import { renderJson } from '../output/render';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { collect, parseConfigs, wholeNumber } from './arguments';
import { printResult as print } from './print-result';
import { runCommand } from './run-command';
import { registerTopicAlterCommands } from './topic-alter';
import { registerTopicOffsetCommands } from './topic-offsets';
import { registerTopicReassignCommand } from './topic-reassign';

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
    .description('create, describe, alter, move, trim, delete topics');

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
  registerTopicAlterCommands(topic);
  registerTopicReassignCommand(topic);
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
      eligible: partition.eligibleLeaders.filter((id) => !partition.isr.includes(id)),
      offline: partition.offlineReplicas.map(({ brokerId }) => brokerId),
      adding: [...partition.addingReplicas],
      removing: [...partition.removingReplicas],
      startOffset: partition.startOffset === undefined ? null : partition.startOffset.toString(),
      endOffset: partition.endOffset === undefined ? null : partition.endOffset.toString(),
    }));
    const document = {
      topic: described.topic,
      topicId: described.topicId,
      configs: described.configs,
      partitions: rows.map(({ offline: _, eligible, adding, removing, ...row }, index) => ({
        ...row,
        eligibleLeaders: eligible,
        addingReplicas: adding,
        removingReplicas: removing,
        offlineReplicas: described.partitions[index]?.offlineReplicas ?? [],
      })),
    };
    if (outputFormat(options) === 'table') {
      const configs = Object.entries(described.configs).map(([key, value]) => `${key}=${value}`);
      process.stdout.write(
        `topic ${described.topic}  id ${described.topicId}  ${configs.join(' ') || 'default settings'}\n`,
      );
    }
    const some = (['eligible', 'offline', 'adding', 'removing'] as const).filter((column) =>
      rows.some((row) => row[column].length > 0),
    );
    const columns = ['partition', 'leader', 'leaderEpoch', 'replicas', 'isr', 'startOffset', 'endOffset']; // prettier-ignore
    print(options, document, [...columns, ...some], rows);
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
