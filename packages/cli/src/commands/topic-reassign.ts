/** `trib topic reassign`: moves replicas, cancels that, shows how far it is. */
import { readFileSync } from 'node:fs';
import type {
  Client,
  OngoingReassignment,
  PartitionMove,
  PartitionResult,
} from '@tributary/client';
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { brokerIds, CATCH_UP_SETTING, throttleBytesPerSecond, wholeNumber } from './arguments';
import { timeoutMsOf, withClient, withConnection, type ConnectionOptions } from './connection';
import { movesOfPlan, rotatedMoves } from './move-plan';
import { moveProgress, progressTexts } from './move-progress';
import { listPartitionResults, printResult, refusalOf } from './print-result';
import { runCommand } from './run-command';
import { waitUntilDone } from './wait-until';

interface ReassignOptions extends ConnectionOptions {
  readonly partition?: string;
  readonly replicas?: string;
  readonly file?: string;
  readonly cancel?: boolean;
  readonly status?: boolean;
  readonly throttle?: string;
  readonly wait?: boolean;
}

export function registerTopicReassignCommand(topic: Command): void {
  withConnection(topic.command('reassign [topic]').description('move replicas to other brokers; needs one of --replicas, --file, --cancel, --status'))
    .option('-p, --partition <number>', 'only this partition')
    .option('--replicas <ids>', 'brokers that shall have it, 1,2,3; the first is the preferred leader, of several partitions each in turn')
    .option('--file <plan.json>', '{ "partitions": [{ "topic", "partition", "replicas" }, ...] }')
    .option('--cancel', 'back to the replicas from before; without a topic: all that are being moved')
    .option('--status', 'what is being moved, and how far each new replica is, as its leader knows it')
    .option('--throttle <bytes>', 'a second, of each broker that is copied from; set once the moves are begun, on all brokers; stays until it is altered again (0: back to the default)')
    .option('--wait', 'until all that was begun is moved, with a line for each change, and every 5 s how far it is')
    .action(runCommand(reassign)); // prettier-ignore
}

async function reassign(
  args: readonly string[],
  options: ReassignOptions,
  command: Command,
): Promise<void> {
  const topic = args[0];
  checkMode(topic, options);
  const partition =
    options.partition === undefined ? undefined : wholeNumber(options.partition, '--partition');
  const throttle =
    options.throttle === undefined ? undefined : throttleBytesPerSecond(options.throttle);
  const scope = { topic, partition };
  const plan = options.file === undefined ? undefined : readPlan(options.file);
  await withClient(options, command, async (client) => {
    if (options.status) {
      if (throttle !== undefined) await setThrottle(client, throttle, options);
      if (options.wait) await waitForMoves(client, scope, options);
      return printStatus(options, await ongoing(client, scope, options));
    }
    const results = options.cancel
      ? await cancel(client, scope, options)
      : await begin(client, plan ?? (await moves(client, scope, options)), options);
    const refusal = refusalOf(results);
    const begun = results.filter(({ error }) => error === undefined);
    // Only for what is moved: a throttle that stays behind after a refusal would slow down every other catch-up.
    if (throttle !== undefined && (begun.length > 0 || !refusal)) {
      await setThrottleOfBegun(client, throttle, options);
    }
    listPartitionResults(options, results, options.cancel ? 'cancelled' : 'begun');
    if (options.wait && begun.length > 0) await waitForMoves(client, plan ? {} : scope, options);
    if (refusal) throw refusal;
  });
}

async function setThrottleOfBegun(
  client: Client,
  bytes: number,
  options: ReassignOptions,
): Promise<void> {
  try {
    await setThrottle(client, bytes, options);
  } catch (thrown) {
    const { code, message, hint, outcome } = TributaryError.from(thrown);
    const done = options.cancel ? 'the moves are cancelled' : 'the moves are begun';
    throw new TributaryError(code, `${done}, but --throttle ${bytes} failed: ${message}`, {
      ...{ hint, cause: thrown },
      ...(outcome === undefined ? {} : { outcome }),
    });
  }
}

interface Scope {
  readonly topic?: string | undefined;
  readonly partition?: number | undefined;
}

function checkMode(topic: string | undefined, options: ReassignOptions): void {
  const modes = (['replicas', 'file', 'cancel', 'status'] as const).filter(
    (mode) => options[mode] !== undefined,
  );
  if (modes.length !== 1) {
    const given = modes.map((mode) => `--${mode}`).join(' and ') || 'none of them';
    throw new TributaryError(
      'INVALID_ARGUMENT',
      `one of --replicas, --file, --cancel and --status is needed, not ${given}`,
    );
  }
  if (topic === undefined && (options.replicas !== undefined || options.partition !== undefined)) {
    const flag = options.replicas === undefined ? '--partition' : '--replicas';
    throw new TributaryError('INVALID_ARGUMENT', `${flag} needs the name of the topic`);
  }
  if (options.file !== undefined && topic !== undefined) {
    throw new TributaryError('INVALID_ARGUMENT', '--file names the topics itself');
  }
}

async function setThrottle(
  client: Client,
  bytes: number,
  options: ConnectionOptions,
): Promise<void> {
  const alteration =
    bytes > 0
      ? { setConfigs: { [CATCH_UP_SETTING]: String(bytes) } }
      : { removeConfigs: [CATCH_UP_SETTING] };
  await client.admin().alterBroker('all', alteration, { timeoutMs: timeoutMsOf(options) });
  const now = bytes > 0 ? `${CATCH_UP_SETTING}=${bytes}` : `${CATCH_UP_SETTING} has its default`;
  process.stderr.write(`${now} on all brokers, until it is altered again\n`);
}

function readPlan(file: string): PartitionMove[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TributaryError('INVALID_ARGUMENT', `--file ${file} cannot be read: ${why}`, {
      cause,
    });
  }
  return movesOfPlan(text, file);
}

async function moves(
  client: Client,
  { topic = '', partition }: Scope,
  options: ReassignOptions,
): Promise<PartitionMove[]> {
  const replicas = brokerIds(options.replicas ?? '', '--replicas');
  if (partition !== undefined) return [{ topic, partition, replicas }];
  const call = { timeoutMs: timeoutMsOf(options), offsets: false };
  const { partitions } = await client.admin().describeTopic(topic, call);
  return rotatedMoves(topic, partitions.length, replicas);
}

function begin(
  client: Client,
  plan: readonly PartitionMove[],
  options: ReassignOptions,
): Promise<PartitionResult[]> {
  return client.admin().reassignPartitions(plan, { timeoutMs: timeoutMsOf(options) });
}

async function cancel(
  client: Client,
  scope: Scope,
  options: ReassignOptions,
): Promise<PartitionResult[]> {
  const found = await ongoing(client, scope, options, false);
  if (found.length === 0) process.stderr.write('nothing is being moved\n');
  if (found.length === 0) return [];
  return client.admin().cancelReassignments(found, { timeoutMs: timeoutMsOf(options) });
}

async function ongoing(
  client: Client,
  { topic, partition }: Scope,
  options: ConnectionOptions,
  progress = true,
): Promise<OngoingReassignment[]> {
  const call = {
    progress,
    timeoutMs: timeoutMsOf(options),
    ...(topic === undefined ? {} : { topics: [topic] }),
  };
  const found = await client.admin().listReassignments(call);
  return found.filter((one) => partition === undefined || one.partition === partition);
}

function printStatus(options: ConnectionOptions, found: readonly OngoingReassignment[]): void {
  const rows = found.map(({ topic, partition, replicas, adding, removing }) => ({
    topic,
    partition,
    replicas: [...replicas],
    adding: adding.map(({ brokerId }) => brokerId),
    inSync: adding.filter(({ inSync }) => inSync).map(({ brokerId }) => brokerId),
    removing: [...removing],
    progress: progressTexts(adding).join('; ') || null,
  }));
  const columns = ['topic', 'partition', 'replicas', 'adding', 'inSync', 'removing', 'progress'];
  printResult(options, found, columns, rows);
}

async function waitForMoves(
  client: Client,
  scope: Scope,
  options: ConnectionOptions,
): Promise<void> {
  await waitUntilDone(async () => moveProgress(await ongoing(client, scope, options)));
}
