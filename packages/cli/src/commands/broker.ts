/** `trib broker list|describe|drain|decommission|return|alter`. */
import type {
  AlteredBroker,
  BrokerAlteration,
  BrokerDescription,
  BrokerDuty,
  Client,
} from '@tributary/client';
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { collect, parseConfigs, wholeNumber } from './arguments';
import { dutyProgress } from './duty-progress';
import { printResult } from './print-result';
import { runCommand } from './run-command';
import { waitUntilDone } from './wait-until';

interface DutyOptions extends ConnectionOptions {
  readonly wait?: boolean;
}

interface AlterOptions extends ConnectionOptions {
  readonly all?: boolean;
  readonly config?: readonly string[];
  readonly removeConfig?: readonly string[];
}

const LIST_COLUMNS = ['broker', 'address', 'rack', 'state', 'duty', 'leaders', 'replicas', 'outOfSync', 'adding', 'removing']; // prettier-ignore

export function registerBrokerCommands(program: Command): void {
  const broker = program.command('broker').description('brokers: look at them, alter them, take them out of service');
  withConnection(broker.command('list').description('brokers, what they lead and hold, and their duty'))
    .action(runCommand(listBrokers));
  withConnection(broker.command('describe <id>').description('one broker with its settings'))
    .action(runCommand(describeBroker));
  const duties = [
    ['drain', 'drained', 'it shall lead nothing that another broker can lead: for maintenance', 'until that is so'],
    ['decommission', 'decommissioned', 'move everything away from it, for good', 'until it has no replica'],
    ['return', 'in service', 'put a drained or decommissioned broker back in service', 'until it may lead again'],
  ] as const;
  for (const [verb, duty, about, wait] of duties) {
    withConnection(broker.command(`${verb} <id>`).description(about))
      .option('--wait', `${wait}, with a line for each change`)
      .action(runCommand(setDuty(duty)));
  }
  withConnection(broker.command('alter [id]').description('settings that apply while it runs'))
    .option('--all', 'of all brokers that have none of their own')
    .option('-c, --config <name=value>', 'a setting; may be repeated', collect)
    .option('--remove-config <name>', 'back to that of all brokers, or its default; may be repeated', collect)
    .action(runCommand(alterBroker));
} // prettier-ignore

async function listBrokers(
  _args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  await withClient(options, command, async (client) => {
    const brokers = await client.admin().describeBrokers({ timeoutMs: timeoutMsOf(options) });
    printResult(options, brokers, LIST_COLUMNS, brokers.map(rowOf));
  });
}

async function describeBroker(
  args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  const brokerId = wholeNumber(args[0] as string, 'ID');
  await withClient(options, command, async (client) => {
    const broker = await requireBroker(client, brokerId, options);
    printResult(options, broker, LIST_COLUMNS, [rowOf(broker)]);
    if (outputFormat(options) === 'json') return;
    const configs = Object.entries(broker.configs);
    for (const [name, value] of configs) {
      const whose = broker.ownConfigNames.includes(name) ? 'its own' : 'of all brokers';
      process.stdout.write(`${name}=${value}  (${whose})\n`);
    }
    if (configs.length === 0) process.stdout.write('no settings were altered\n');
  });
}

function rowOf(broker: BrokerDescription) {
  const state = !broker.registered ? 'away' : broker.eligible ? 'up' : 'not eligible';
  return {
    broker: broker.brokerId,
    address: broker.registered ? `${broker.host}:${broker.port}` : null,
    rack: broker.rack ?? null,
    state: broker.controller ? `${state}, controller` : state,
    duty: broker.duty,
    leaders: broker.leaders,
    replicas: broker.replicas,
    outOfSync: broker.outOfSyncReplicas,
    adding: broker.addingReplicas,
    removing: broker.removingReplicas,
  };
}

function setDuty(duty: BrokerDuty) {
  return async (args: readonly string[], options: DutyOptions, command: Command): Promise<void> => {
    const brokerId = wholeNumber(args[0] as string, 'ID');
    await withClient(options, command, async (client) => {
      const before = await requireBroker(client, brokerId, options);
      const call = { timeoutMs: timeoutMsOf(options) };
      const altered = await client.admin().alterBroker(brokerId, { duty }, call);
      printAltered(options, brokerId, altered);
      if (duty === 'in service' && !before.registered) {
        const isKnown = await isListed(client, brokerId, call);
        const told = isKnown
          ? 'it may lead when it is started again'
          : 'nothing is left of it, so that it is forgotten now';
        process.stderr.write(`broker ${brokerId} is away: ${told}\n`);
        if (!isKnown) return;
      }
      if (!options.wait) return;
      await waitUntilDone(async () => {
        const brokers = await client.admin().describeBrokers(call);
        const broker = brokers.find((one) => one.brokerId === brokerId);
        if (!broker) throw unknownBroker(brokerId, brokers);
        const topics = duty === 'in service' ? [] : await client.admin().listTopics(call);
        return dutyProgress(duty, broker, topics, takersOf(brokers));
      });
    });
  };
}

async function alterBroker(
  args: readonly string[],
  options: AlterOptions,
  command: Command,
): Promise<void> {
  const id = args[0];
  if ((id === undefined) !== (options.all ?? false)) {
    const message =
      id === undefined ? 'an id or --all is needed' : '--all and an id exclude each other';
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  const alteration: BrokerAlteration = {
    setConfigs: parseConfigs(options.config ?? []),
    removeConfigs: options.removeConfig ?? [],
  };
  const broker = id === undefined ? 'all' : wholeNumber(id, 'ID');
  await withClient(options, command, async (client) => {
    if (broker !== 'all') await requireBroker(client, broker, options);
    const call = { timeoutMs: timeoutMsOf(options) };
    printAltered(options, broker, await client.admin().alterBroker(broker, alteration, call));
  });
}

function printAltered(
  options: ConnectionOptions,
  broker: number | 'all',
  { configs, duty }: AlteredBroker,
): void {
  const pairs = Object.entries(configs).map(([name, value]) => `${name}=${value}`);
  const row = { broker, duty: broker === 'all' ? null : duty, configs: pairs };
  const document = { broker, ...(broker === 'all' ? {} : { duty }), configs };
  printResult(options, document, ['broker', 'duty', 'configs'], [row]);
}

/** A mistyped id would else be a broker that gets its duty when it appears. */
async function requireBroker(
  client: Client,
  brokerId: number,
  options: ConnectionOptions,
): Promise<BrokerDescription> {
  const brokers = await client.admin().describeBrokers({ timeoutMs: timeoutMsOf(options) });
  const found = brokers.find((broker) => broker.brokerId === brokerId);
  if (found) return found;
  throw unknownBroker(brokerId, brokers);
}

function unknownBroker(brokerId: number, brokers: readonly BrokerDescription[]): TributaryError {
  const known = brokers.map((broker) => broker.brokerId).join(', ');
  const message = `there is no broker ${brokerId}; there are: ${known}`;
  return new TributaryError('UNKNOWN_BROKER', message);
}

/** One that is away is listed for its replicas, its duty or its settings. */
async function isListed(
  client: Client,
  brokerId: number,
  call: { readonly timeoutMs: number },
): Promise<boolean> {
  const brokers = await client.admin().describeBrokers(call);
  return brokers.some((broker) => broker.brokerId === brokerId);
}

function takersOf(brokers: readonly BrokerDescription[]): number[] {
  return brokers
    .filter(({ registered, duty }) => registered && duty !== 'decommissioned')
    .map(({ brokerId }) => brokerId);
}
