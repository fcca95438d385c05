/** `trib partition accept-loss`. */
import { TributaryError } from '@tributary/common';
import type { Client } from '@tributary/client';
import { Argument, type Command } from 'commander';
import { renderJson, renderTable } from '../output/render';
import { wholeNumber } from './arguments';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';

interface AcceptLossOptions extends ConnectionOptions {
  readonly broker: string;
  readonly force?: boolean;
  readonly yes?: boolean;
}

export function registerPartitionCommands(program: Command): void {
  const partition = program
    .command('partition')
    .description('single partitions that need a person');
  const about =
    'let a damaged replica lead again without what is damaged of it, when no other one can';
  withConnection(partition.command('accept-loss').description(about))
    .addArgument(new Argument('<topic>'))
    .addArgument(new Argument('<partition>'))
    .requiredOption('--broker <id>', 'whose replica is damaged')
    .option('--force', 'also while other in-sync replicas may come back with all records')
    .option('--yes', 'the damaged records may be gone for good')
    .action(runCommand(acceptLoss));
}

async function acceptLoss(
  args: readonly string[],
  options: AcceptLossOptions,
  command: Command,
): Promise<void> {
  const topic = args[0] as string;
  const partition = wholeNumber(args[1] as string, 'PARTITION');
  const brokerId = wholeNumber(options.broker, '--broker');
  const timeoutMs = timeoutMsOf(options);
  await withClient(options, command, async (client) => {
    if (!options.yes) throw await unconfirmed(client, { topic, partition, brokerId, timeoutMs });
    const force = options.force ?? false;
    const loss = await client.admin().acceptLoss(topic, partition, { brokerId, force, timeoutMs });
    if (outputFormat(options) === 'json') {
      process.stdout.write(renderJson(loss));
      return;
    }
    const rows = loss.lost.map(({ fromOffset, toOffset, file, position }) => ({
      fromOffset: fromOffset.toString(),
      toOffset: toOffset.toString(),
      file,
      position,
    }));
    process.stdout.write(renderTable(['fromOffset', 'toOffset', 'file', 'position'], rows));
    process.stderr.write(
      `${topic}-${partition} is led by broker ${brokerId} again, offsets ${loss.startOffset} to ${loss.endOffset}\n`,
    );
  });
}

interface Named {
  readonly topic: string;
  readonly partition: number;
  readonly brokerId: number;
  readonly timeoutMs: number;
}

/** Says what is known of the damage: who reads it can decide. Or that there is nothing to decide about. */
async function unconfirmed(client: Client, named: Named): Promise<TributaryError> {
  const { topic, partition, brokerId, timeoutMs } = named;
  const { partitions } = await client.admin().describeTopic(topic, { timeoutMs, offsets: false });
  const found = partitions.find((one) => one.partition === partition);
  if (!found) {
    const text = `topic ${topic} has ${partitions.length} partitions, there is no partition ${partition}`;
    return new TributaryError('UNKNOWN_PARTITION', text);
  }
  const name = `${topic}-${partition}`;
  if (!found.replicas.includes(brokerId)) {
    const text = `broker ${brokerId} has no replica of ${name}, brokers ${found.replicas.join(', ')} do`;
    return new TributaryError('INELIGIBLE_REPLICA', text, {
      hint: `See trib topic describe ${topic}.`,
    });
  }
  if (found.leader !== undefined) {
    const text = `${name} is led by broker ${found.leader}: no loss has to be accepted`;
    return new TributaryError('INELIGIBLE_REPLICA', text, {
      hint: 'A damaged replica of a partition that has a leader is refilled from it.',
    });
  }
  const offline = found.offlineReplicas.find((one) => one.brokerId === brokerId);
  const known = offline ? `: ${offline.reason}` : ', where no damage is known';
  return new TributaryError(
    'LOSS_NOT_CONFIRMED',
    `records of ${name} on broker ${brokerId} would be lost for good${known}`,
    { hint: 'Repeat the command with --yes if that is accepted.' },
  );
}
