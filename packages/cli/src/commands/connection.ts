/**
 * The options that every command on a running cluster shares, and the client made from them.
 * Order: flag, environment, default (the local development cluster's brokers).
 */
import { TributaryError } from '@tributary/common';
import { createClient, type Client } from '@tributary/client';
import { Option, type Command } from 'commander';
import type { OutputFormat } from '../output/render';

export const DEFAULT_BROKERS = 'localhost:9292,localhost:9293,localhost:9294';

export interface ConnectionOptions {
  readonly zookeeper?: string;
  readonly brokers?: string;
  readonly listener?: string;
  readonly timeout: string;
  /** Of `consume`: with --zookeeper a member lives as long as the session of its client. */
  readonly sessionTimeout?: string;
  readonly output?: string;
  readonly debug?: boolean;
}

/** Adds --zookeeper, --brokers, --listener, --timeout, and --output unless the command has its own. */
export function withConnection(
  command: Command,
  formats: readonly string[] = ['table', 'json'],
): Command {
  if (formats[0] !== undefined) {
    const output = new Option('-o, --output <format>', 'how to print').choices([...formats]);
    command.addOption(output.default(formats[0]));
  }
  return command
    .addOption(
      new Option('--zookeeper <hosts>', 'find the brokers in ZooKeeper: host:port,.../chroot').env(
        'TRIBUTARY_ZOOKEEPER',
      ),
    )
    .addOption(
      new Option(
        '--brokers <hosts>',
        `find them through any broker (default ${DEFAULT_BROKERS})`,
      ).env('TRIBUTARY_BROKERS'),
    )
    .addOption(
      new Option('--listener <name>', "which of the brokers' endpoints to use").env(
        'TRIBUTARY_LISTENER',
      ),
    )
    .option('--timeout <ms>', 'give up after this many milliseconds', '30000')
    .option('--debug', 'show causes and stacks of an error');
}

export function outputFormat(options: ConnectionOptions): OutputFormat {
  return options.output === 'json' ? 'json' : 'table';
}

export function timeoutMsOf(options: ConnectionOptions): number {
  return milliseconds(options.timeout, '--timeout');
}

export function milliseconds(text: string, flag: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new TributaryError('INVALID_ARGUMENT', `${flag} ${text} is not a count of milliseconds`);
}

/** Runs `work` with a client and closes it whatever happens. A flag beats the other's environment variable. */
export async function withClient<T>(
  options: ConnectionOptions,
  command: Command,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = createClient({
    ...addresses(options, command),
    ...(options.listener ? { listener: options.listener } : {}),
    clientId: 'trib',
    requestTimeoutMs: timeoutMsOf(options),
    ...(options.sessionTimeout === undefined
      ? {}
      : { sessionTimeoutMs: milliseconds(options.sessionTimeout, '--session-timeout') }),
  });
  try {
    return await work(client);
  } finally {
    await client.close({ timeoutMs: 2000 });
  }
}

function addresses(
  options: ConnectionOptions,
  command: Command,
): { zookeeper: string } | { brokers: string[] } {
  const source = (name: string): string | undefined => command.getOptionValueSource(name);
  if (source('zookeeper') === 'cli' && source('brokers') === 'cli') {
    throw new TributaryError('INVALID_ARGUMENT', '--zookeeper and --brokers exclude each other');
  }
  const preferBrokers = source('brokers') === 'cli';
  if (options.zookeeper && !preferBrokers) return { zookeeper: options.zookeeper };
  return { brokers: (options.brokers ?? DEFAULT_BROKERS).split(',').filter((host) => host !== '') };
}
