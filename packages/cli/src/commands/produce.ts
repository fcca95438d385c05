/**
 * `trib produce TOPIC`: lines of standard input or of a file become records, byte for byte. A bounded
 * window of records is unanswered at any time, so that a file of any size needs little memory.
 */
import { createReadStream } from 'node:fs';
import { hasCode, TributaryError } from '@tributary/common';
import type { Client, Producer } from '@tributary/client';
import { CODEC_NAMES, type CodecName } from '@tributary/record';
import { Option, type Command } from 'commander';
import { renderJson } from '../output/render';
import { timeoutMsOf, withClient, withConnection, type ConnectionOptions } from './connection';
import { LineSplitter } from './line-splitter';
import { runCommand } from './run-command';
import { wholeNumber } from './arguments';

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const MAX_UNANSWERED_RECORDS = 20_000;

interface ProduceOptions extends ConnectionOptions {
  readonly file?: string;
  readonly keySeparator?: string;
  readonly null?: string;
  readonly partition?: string;
  readonly acks: 'all' | 'leader' | 'none';
  readonly codec: CodecName;
}

interface Tally {
  records: number;
  readonly partitions: Record<number, number>;
}

export function registerProduceCommand(program: Command): void {
  withConnection(
    program.command('produce <topic>').description('write lines of standard input as records'),
  )
    .option('-f, --file <path>', 'read this file instead of standard input')
    .option(
      '-k, --key-separator <text>',
      'what stands before its first occurrence in a line is the key',
    )
    .option('--null <text>', 'a value that is exactly this text is null: a tombstone of its key')
    .option('-p, --partition <number>', 'write to this partition only')
    .addOption(
      new Option('--acks <mode>', 'when a record counts as written')
        .choices(['all', 'leader', 'none'])
        .default('all'),
    ) // prettier-ignore
    .addOption(
      new Option('--codec <name>', 'how batches are compressed')
        .choices(CODEC_NAMES)
        .default('none'),
    ) // prettier-ignore
    .action(runCommand(produce));
}

async function produce(
  args: readonly string[],
  options: ProduceOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const tally = await withClient(options, command, (client) =>
    produceLines(client, topic, options),
  );
  if (options.output === 'json') {
    process.stdout.write(renderJson({ topic, ...tally }));
  } else {
    const spread = Object.entries(tally.partitions).map(
      ([partition, count]) => `${partition}: ${count}`,
    );
    const where = spread.length > 0 ? ` (by partition ${spread.join(', ')})` : '';
    process.stderr.write(`produced ${counted(tally.records)} to ${topic}${where}\n`);
  }
}

async function produceLines(
  client: Client,
  topic: string,
  options: ProduceOptions,
): Promise<Tally> {
  const producer = client.producer({
    acks: options.acks,
    codec: options.codec,
    deliveryTimeoutMs: timeoutMsOf(options),
  });
  const window = new SendWindow(producer, topic, options);
  let failure: unknown;
  try {
    await sendLines(window, options.file);
  } catch (thrown) {
    failure = thrown;
  }
  // Also after a failure: what was sent before it gets its answer, and is counted.
  await producer.close({ timeoutMs: timeoutMsOf(options) }).catch((thrown: unknown) => {
    failure ??= thrown;
  });
  if (failure) throw afterRecords(window.tally.records, withAdvice(failure, options));
  // Nothing was sent, so nobody has looked for the topic yet.
  if (window.tally.records === 0) await requireTopic(client, topic, options);
  return window.tally;
}

async function sendLines(window: SendWindow, file: string | undefined): Promise<void> {
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  for await (const chunk of input(file)) {
    for (const line of splitter.push(chunk)) await window.send(line);
  }
  const last = splitter.finish();
  if (last) await window.send(last);
  await window.settled();
}

/** The hint of the code speaks to programs. */
function withAdvice(failure: unknown, { keySeparator }: ProduceOptions): unknown {
  if (!hasCode(failure, 'KEY_REQUIRED') || keySeparator !== undefined) return failure;
  const { message, outcome, details } = failure;
  return new TributaryError('KEY_REQUIRED', message, {
    hint: 'The topic is compacted by key: name what separates key and value in a line, for example -k :',
    details,
    cause: failure,
    ...(outcome ? { outcome } : {}),
  });
}

/** The same failure, saying how many records are in the log all the same. */
function afterRecords(records: number, failure: unknown): TributaryError {
  const error = TributaryError.from(failure);
  if (records === 0) return error;
  const { hint, outcome, details } = error;
  return new TributaryError(error.code, `${error.message}; ${counted(records)} written before`, {
    hint,
    details: { ...details, recordsWritten: records },
    cause: error,
    ...(outcome ? { outcome } : {}),
  });
}

async function requireTopic(client: Client, topic: string, options: ProduceOptions): Promise<void> {
  await client.admin().describeTopic(topic, { timeoutMs: timeoutMsOf(options), offsets: false });
}

function counted(records: number): string {
  return records === 1 ? '1 record' : `${records} records`;
}

async function* input(file: string | undefined): AsyncGenerator<Buffer> {
  const stream = file === undefined ? process.stdin : createReadStream(file);
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    throw new TributaryError('INVALID_ARGUMENT', `cannot read ${file ?? 'standard input'}: ${(error as Error).message}`, { cause: error }); // prettier-ignore
  }
}

/** Sends without waiting for each answer, at most MAX_UNANSWERED_RECORDS ahead; the first failure stops it. */
class SendWindow {
  readonly tally: Tally = { records: 0, partitions: {} };
  private readonly separator: Buffer | undefined;
  private readonly nullText: Buffer | undefined;
  private readonly partition: number | undefined;
  private unanswered = 0;
  private failure: unknown;
  private wake: (() => void) | undefined;

  constructor(
    private readonly producer: Producer,
    private readonly topic: string,
    options: ProduceOptions,
  ) {
    if (options.keySeparator === '') {
      throw new TributaryError('INVALID_ARGUMENT', '--key-separator is empty');
    }
    this.separator =
      options.keySeparator === undefined ? undefined : Buffer.from(options.keySeparator);
    this.nullText = options.null === undefined ? undefined : Buffer.from(options.null);
    this.partition =
      options.partition === undefined ? undefined : wholeNumber(options.partition, '--partition');
  }

  async send(line: Buffer): Promise<void> {
    while (this.unanswered >= MAX_UNANSWERED_RECORDS && !this.failure) await this.change();
    this.throwFailure();
    this.unanswered += 1;
    const { key, value: text } = this.splitKey(line);
    const value = this.nullText?.equals(text) ? null : text;
    this.producer
      .send(this.topic, {
        key,
        value,
        ...(this.partition === undefined ? {} : { partition: this.partition }),
      })
      .then(
        (sent) => {
          this.tally.records += 1;
          this.tally.partitions[sent.partition] = (this.tally.partitions[sent.partition] ?? 0) + 1;
        },
        (error: unknown) => {
          this.failure ??= error;
        },
      )
      .finally(() => {
        this.unanswered -= 1;
        this.wake?.();
      });
  }

  async settled(): Promise<void> {
    await this.producer.flush();
    while (this.unanswered > 0 && !this.failure) await this.change();
    this.throwFailure();
  }

  private splitKey(line: Buffer): { key: Buffer | null; value: Buffer } {
    if (!this.separator) return { key: null, value: line };
    const at = line.indexOf(this.separator);
    if (at < 0) {
      throw new TributaryError(
        'INVALID_ARGUMENT',
        `line ${this.tally.records + this.unanswered} has no key separator`,
        { hint: 'Everything before the first separator (-k) of a line is its key.' },
      );
    }
    return { key: line.subarray(0, at), value: line.subarray(at + this.separator.length) };
  }

  private throwFailure(): void {
    if (this.failure) throw TributaryError.from(this.failure);
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}
