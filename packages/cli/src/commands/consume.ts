/**
 * `trib consume TOPIC`: records to standard output, as their bare values or as one JSON object a line.
 * With --group it is a member like any other and commits what it has printed.
 */
import { hasCode, TributaryError } from '@tributary/common';
import type { Client, Consumer, ConsumerRecord } from '@tributary/client';
import { Option, type Command } from 'commander';
import { textOrBase64 } from '../output/bytes';
import { renderJsonLine } from '../output/render';
import { dataOutput } from '../output/standard-output';
import {
  milliseconds,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { EndWatch } from './end-watch';
import { LeaderWatch } from './leader-watch';
import { runCommand } from './run-command';
import { wholeNumber } from './arguments';

/** What was printed longer ago than this is committed: so much is printed again after a crash. */
const COMMIT_EVERY_MS = 1000;

const ON_OUT_OF_RANGE = { fail: 'fail', start: 'earliest', end: 'latest' } as const;

interface ConsumeOptions extends ConnectionOptions {
  readonly group?: string;
  readonly from: string;
  readonly outOfRange: 'fail' | 'start' | 'end';
  readonly partition?: string;
  readonly count?: string;
  readonly sessionTimeout: string;
  readonly exitAtEnd?: boolean;
}

export function registerConsumeCommand(program: Command): void {
  withConnection(program.command('consume <topic>').description('print the records of a topic'), [])
    .addOption(
      new Option(
        '-o, --output <format>',
        'value: the bytes and a newline; ndjson: one JSON object a line',
      )
        .choices(['value', 'ndjson'])
        .default('value'),
    ) // prettier-ignore
    .option('-g, --group <group>', 'share the partitions with the other members of this group')
    .option('--from <start|end|OFFSET>', 'where to begin where the group has no offset', 'start')
    .addOption(
      new Option(
        '--out-of-range <fail|start|end>',
        'where to go on when the offset does not exist (any more), say after retention',
      )
        .choices(['fail', 'start', 'end'])
        .default('fail'),
    ) // prettier-ignore
    .option('-p, --partition <number>', 'this partition only (not with --group)')
    .option(
      '--session-timeout <ms>',
      'how long the group waits for a member that fell silent',
      '10000',
    )
    .option('-n, --count <records>', 'stop after so many records')
    .option('--exit-at-end', 'stop at what was the end when the command began')
    .action(runCommand(consume));
}

async function consume(
  args: readonly string[],
  options: ConsumeOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const limit = options.count === undefined ? Infinity : wholeNumber(options.count, '--count');
  if (options.group !== undefined && options.partition !== undefined) {
    throw new TributaryError('INVALID_ARGUMENT', '--partition cannot be combined with --group');
  }
  if (limit === 0) return;
  await withClient(options, command, async (client) => {
    const consumer = await makeConsumer(client, topic, options);
    const stop = stopOnSignals(consumer);
    const end = options.exitAtEnd
      ? await EndWatch.start(client, consumer, topic, {
          group: options.group,
          partition: partitionOf(options),
          timeoutMs: timeoutMsOf(options),
        })
      : undefined;
    const leaders = end
      ? undefined
      : new LeaderWatch(client, topic, { partition: partitionOf(options) });
    leaders?.start();
    try {
      await printRecords(consumer, limit, options).catch((error: unknown) => {
        throw withAdvice(error);
      });
      if (end?.failure) throw TributaryError.from(end.failure);
    } finally {
      end?.stop();
      leaders?.stop();
      stop();
      await consumer.close({ timeoutMs: 5000 });
    }
  });
}

async function makeConsumer(
  client: Client,
  topic: string,
  options: ConsumeOptions,
): Promise<Consumer> {
  const from = options.from === 'end' ? 'latest' : 'earliest';
  const onOutOfRange = ON_OUT_OF_RANGE[options.outOfRange];
  if (options.group !== undefined) {
    if (options.from !== 'start' && options.from !== 'end') {
      throw new TributaryError('INVALID_ARGUMENT', '--from OFFSET cannot be combined with --group');
    }
    return client.consumer({
      group: options.group,
      topics: [topic],
      from,
      onOutOfRange,
      autoCommit: { intervalMs: COMMIT_EVERY_MS },
      sessionTimeoutMs: milliseconds(options.sessionTimeout, '--session-timeout'),
    });
  }
  const call = { timeoutMs: timeoutMsOf(options), offsets: false };
  const described = await client.admin().describeTopic(topic, call);
  const wanted = partitionOf(options);
  const partitions = described.partitions
    .map(({ partition }) => partition)
    .filter((partition) => wanted === undefined || partition === wanted);
  if (partitions.length === 0) {
    throw new TributaryError('UNKNOWN_PARTITION', `topic ${topic} has no partition ${wanted}`);
  }
  const offset = startOffset(options.from);
  return client.consumer({
    from,
    onOutOfRange,
    assign: partitions.map((partition) => ({
      topic,
      partition,
      ...(offset === undefined ? {} : { offset }),
    })),
  });
}

function partitionOf({ partition }: ConsumeOptions): number | undefined {
  return partition === undefined ? undefined : wholeNumber(partition, '--partition');
}

/** undefined: one of the ends. */
function startOffset(from: string): bigint | undefined {
  if (from === 'start' || from === 'end') return undefined;
  if (/^[0-9]{1,18}$/.test(from)) return BigInt(from);
  throw new TributaryError('INVALID_ARGUMENT', `--from ${from} is not start, end or an offset`);
}

async function printRecords(
  consumer: Consumer,
  limit: number,
  options: ConsumeOptions,
): Promise<void> {
  const output = dataOutput();
  let printed = 0;
  for await (const record of consumer) {
    await output.write(
      options.output === 'ndjson' ? Buffer.from(renderJsonLine(asJson(record))) : valueLine(record),
    );
    printed += 1;
    const last = printed >= limit;
    if (!last) continue;
    if (options.group !== undefined) {
      await record.commit(); // the one in hand does not count as consumed yet
      await consumer.commit();
    }
    return;
  }
  if (options.group !== undefined && printed > 0) await consumer.commit();
}

/** The hint of the code speaks to programs, which can seek. */
function withAdvice(error: unknown): unknown {
  if (!hasCode(error, 'OFFSET_OUT_OF_RANGE')) return error;
  const hint = 'Go on where there are records: --out-of-range start or end, or another --from.';
  return new TributaryError(error.code, error.message, {
    hint,
    details: error.details,
    cause: error,
  });
}

function valueLine(record: ConsumerRecord): Buffer {
  return Buffer.concat([(record.value as Buffer | null) ?? Buffer.alloc(0), Buffer.from('\n')]);
}

function asJson(record: ConsumerRecord): Record<string, unknown> {
  return {
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    timestamp: record.timestamp,
    ...textOrBase64('key', record.key as Buffer | null),
    ...textOrBase64('value', record.value as Buffer | null),
    headers: [...record.headers].map(([name, value]) => ({
      name,
      ...textOrBase64('value', value),
    })),
  };
}

/** Ctrl-C ends the loop; what was printed is committed on the way out. */
function stopOnSignals(consumer: Consumer): () => void {
  const stop = (): void => {
    process.exitCode = 130;
    void consumer.stop();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  return () => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
}
