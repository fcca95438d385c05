/** `trib cluster journal`: what the controllers decided, and why. */
import { sleep, systemClock, TributaryError } from '@tributary/common';
import type { Client, Decision, DecisionList } from '@tributary/client';
import { Option, type Command } from 'commander';
import { renderJson, renderJsonLine } from '../output/render';
import { dataOutput } from '../output/standard-output';
import { wholeNumber } from './arguments';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';

/** Between two looks with --follow. */
const LOOK_EVERY_MS = 1_000;

interface JournalOptions extends ConnectionOptions {
  readonly limit: string;
  readonly follow?: boolean;
}

export function registerJournalCommand(cluster: Command): void {
  withConnection(cluster.command('journal').description('what the controllers decided, and why: elections, ISR changes, moves'))
    .option('-n, --limit <count>', 'the newest so many', '100')
    .option('-f, --follow', 'go on with what is decided from now on, until Ctrl-C; JSON: one object a line')
    .addOption(new Option('--json', 'the same as -o json').implies({ output: 'json' }))
    .action(runCommand(journal)); // prettier-ignore
}

async function journal(
  _args: readonly string[],
  options: JournalOptions,
  command: Command,
): Promise<void> {
  const limit = wholeNumber(options.limit, '--limit');
  if (limit === 0) throw new TributaryError('INVALID_ARGUMENT', '--limit 0 shows nothing');
  await withClient(options, command, async (client) => {
    // What is new is found by comparing whole journals.
    const all = options.follow === true;
    let list = await decisions(client, options, all ? undefined : limit);
    const asJson = outputFormat(options) === 'json';
    if (asJson && !all) return void process.stdout.write(renderJson(plain(list)));
    let tell = list.decisions.slice(-limit);
    tellOfSilence(undefined, list);
    for (;;) {
      const text = tell.map((one) => (asJson ? renderJsonLine(one) : lineOf(one))).join('');
      await dataOutput().write(Buffer.from(text));
      if (!all) return;
      await sleep(systemClock, LOOK_EVERY_MS);
      const next = await decisions(client, options, undefined);
      tellOfSilence(list, next);
      tell = newDecisions(list.decisions, next.decisions);
      list = remembered(list, next);
    }
  });
}

function decisions(
  client: Client,
  options: ConnectionOptions,
  limit: number | undefined,
): Promise<DecisionList> {
  const timeoutMs = timeoutMsOf(options);
  return client.admin().listDecisions({ timeoutMs, ...(limit === undefined ? {} : { limit }) });
}

function plain({ decisions: found, unanswered }: DecisionList) {
  const silent = unanswered.map(({ brokerId, error }) => ({ brokerId, error: error.toJSON() }));
  return { decisions: found, unanswered: silent };
}

function lineOf({ at, brokerId, controllerEpoch, who, what, why }: Decision): string {
  return `${new Date(at).toISOString()}  controller ${brokerId} (epoch ${controllerEpoch})  ${who}: ${what} (${why})\n`;
}

/** On standard error, once for each broker that does not answer. */
function tellOfSilence(before: DecisionList | undefined, now: DecisionList): void {
  const known = new Set(before?.unanswered.map(({ brokerId }) => brokerId));
  for (const { brokerId, error } of now.unanswered) {
    if (known.has(brokerId)) continue;
    process.stderr.write(
      `broker ${brokerId} does not answer, its decisions are missing: ${error.message}\n`,
    );
  }
}

/** Those of `now` that are not in `before`; two that are the same in everything are two. */
export function newDecisions(before: readonly Decision[], now: readonly Decision[]): Decision[] {
  const counts = new Map<string, number>();
  for (const one of before) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return now.filter((one) => {
    const left = counts.get(keyOf(one)) ?? 0;
    counts.set(keyOf(one), left - 1);
    return left <= 0;
  });
}

/** What a broker told before it fell silent is not told again when it is back. */
export function remembered(before: DecisionList, now: DecisionList): DecisionList {
  const silent = new Set(now.unanswered.map(({ brokerId }) => brokerId));
  const kept = before.decisions.filter(({ brokerId }) => silent.has(brokerId));
  return { ...now, decisions: [...kept, ...now.decisions] };
}

function keyOf(decision: Decision): string {
  const { brokerId, at, controllerEpoch, who, what, why } = decision;
  return JSON.stringify([brokerId, at, controllerEpoch, who, what, why]);
}
