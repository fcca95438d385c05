/** `trib topic offsets|trim`: where the partitions of a topic begin, end and lie in time, and where they shall begin. */
import type { Client, OffsetQuery } from '@tributary/client';
import { hasCode, TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { renderJson, renderTable, type Row } from '../output/render';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { wholeNumber } from './arguments';
import { runCommand } from './run-command';

interface PartitionOption extends ConnectionOptions {
  readonly partition?: string;
}

interface OffsetsOptions extends PartitionOption {
  readonly at: string;
}

interface TrimOptions extends PartitionOption {
  readonly before: string;
}

export function registerTopicOffsetCommands(topic: Command): void {
  withConnection(topic.command('offsets <topic>').description('where the partitions of a topic begin, end, or lie in time'))
    .option('--at <start|end|newest|time>', 'newest: the record with the largest timestamp; time: the first record at or after it, in ms or ISO 8601', 'end')
    .option('-p, --partition <number>', 'only this partition')
    .action(runCommand(listOffsets)); // prettier-ignore

  withConnection(topic.command('trim <topic>').description('delete the oldest records, for good'))
    .requiredOption('--before <offset|end>', 'the first offset that stays; end: nothing of what is there now')
    .option('-p, --partition <number>', 'only this partition; an offset needs one')
    .action(runCommand(trim)); // prettier-ignore
}

async function listOffsets(
  args: readonly string[],
  options: OffsetsOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const query = queryOf(options.at);
  const partition = partitionOf(options);
  await withClient(options, command, async (client) => {
    const found = await client.admin().listOffsets(topic, query, {
      timeoutMs: timeoutMsOf(options),
      ...(partition === undefined ? {} : { partitions: [partition] }),
    });
    const rows = found.map(({ partition, offset, timestamp }) => ({
      partition,
      offset: offset === undefined ? null : offset.toString(),
      timestamp: timestamp ?? null,
    }));
    print(options, ['partition', 'offset', 'timestamp'], rows);
  });
}

async function trim(
  args: readonly string[],
  options: TrimOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const before = beforeOf(options.before);
  const partition = partitionOf(options);
  if (partition === undefined && before !== 'latest') {
    throw new TributaryError('INVALID_ARGUMENT', `--before ${options.before} needs --partition`, {
      hint: 'Offsets of one partition mean nothing in another one.',
    });
  }
  await withClient(options, command, async (client) => {
    const partitions = partition === undefined ? await partitionsOf(client, topic) : [partition];
    const deletions = Object.fromEntries(partitions.map((number) => [number, before]));
    const call = { timeoutMs: timeoutMsOf(options) };
    const deleted = await client
      .admin()
      .deleteRecords(topic, deletions, call)
      .catch((error: unknown) => Promise.reject(withAdvice(error)));
    const rows = deleted.map(({ partition, startOffset }) => ({
      partition,
      startOffset: startOffset.toString(),
    }));
    print(options, ['partition', 'startOffset'], rows);
  });
}

/** The hint of the code speaks to those who read. */
function withAdvice(error: unknown): TributaryError {
  const known = TributaryError.from(error);
  if (!hasCode(known, 'OFFSET_OUT_OF_RANGE')) return known;
  const { code, message, details } = known;
  const hint =
    'Only what is committed can be deleted: `--before end` deletes all that is there now, `trib topic offsets` says where that ends.';
  return new TributaryError(code, message, { hint, details, cause: error });
}

async function partitionsOf(client: Client, topic: string): Promise<number[]> {
  const { partitions } = await client.admin().describeTopic(topic, { offsets: false });
  return partitions.map(({ partition }) => partition);
}

function queryOf(text: string): OffsetQuery {
  if (text === 'start') return 'earliest';
  if (text === 'end') return 'latest';
  if (text === 'newest') return 'max-timestamp';
  const timestamp = /^[0-9]{1,15}$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return { timestamp };
  throw new TributaryError(
    'INVALID_ARGUMENT',
    `--at ${text} is none of start, end, newest, ms since 1970, or a time such as 2026-01-31T12:00Z`,
  );
}

function beforeOf(text: string): bigint | 'latest' {
  if (text === 'end') return 'latest';
  if (/^[0-9]{1,16}$/.test(text)) return BigInt(text);
  throw new TributaryError('INVALID_ARGUMENT', `--before ${text} is neither an offset nor end`);
}

function partitionOf({ partition }: PartitionOption): number | undefined {
  return partition === undefined ? undefined : wholeNumber(partition, '--partition');
}

function print(options: ConnectionOptions, columns: readonly string[], rows: readonly Row[]): void {
  process.stdout.write(
    outputFormat(options) === 'json' ? renderJson(rows) : renderTable(columns, rows),
  );
}
