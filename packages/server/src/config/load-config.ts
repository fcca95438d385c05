/**
 * Flags over environment over defaults, checked as a whole: the result is a valid config or the list of every
 * problem, each one line that says what, why and what to do. Pure: called by `main.ts` with argv and env.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { formatEndpoint, isWildcard } from './endpoints';
import { flagName, settingName, settingNames, settingsSchema, variableName } from './settings';
import type { BrokerConfig } from './settings';
import { nearest } from './suggestion';

export type LoadedConfig =
  | { readonly ok: true; readonly config: BrokerConfig; readonly sources: ConfigSources }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Where each value came from, for --print-config. */
export type ConfigSources = Readonly<Record<string, string>>;

/** Variables of the command line client, which may be set in the same shell. */
const CLIENT_VARIABLES = ['TRIBUTARY_BROKERS', 'TRIBUTARY_OUTPUT', 'TRIBUTARY_LISTENER'];
/** Flags that are not settings. */
export const actionFlags = ['check-config', 'print-config', 'help', 'version'] as const;

interface Found {
  readonly values: Record<string, string>;
  readonly sources: Record<string, string>;
}

export function loadConfig(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): LoadedConfig {
  const problems: string[] = [];
  const found: Found = { values: {}, sources: {} };
  readEnvironment(environment, found, problems);
  readFlags(args, found, problems);
  const result = settingsSchema.safeParse(found.values);
  if (!result.success) {
    for (const issue of result.error.issues) problems.push(describeIssue(issue, found));
    return { ok: false, problems };
  }
  problems.push(...advertisedProblems(result.data));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, config: result.data, sources: found.sources };
}

function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  found: Found,
  problems: string[],
): void {
  const byVariable = new Map(settingNames.map((name) => [variableName(name), name]));
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('TRIBUTARY_') || value === undefined) continue;
    const name = byVariable.get(variable);
    if (name) {
      found.values[name] = value;
      found.sources[name] = variable;
    } else if (!CLIENT_VARIABLES.includes(variable)) {
      const guess = nearest(variable, [...byVariable.keys()]);
      const advice = guess ? `Did you mean ${guess}?` : 'Unset it.';
      problems.push(`environment variable ${variable} is not a setting of a broker. ${advice}`);
    }
  }
}

function readFlags(args: readonly string[], found: Found, problems: string[]): void {
  const byFlag = new Map(settingNames.map((name) => [flagName(name), name]));
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const flag of byFlag.keys()) options[flag] = { type: 'string' };
  for (const flag of actionFlags) options[flag] = { type: 'boolean' };
  const parsed = parseArgs({ args: [...args], options, strict: false, tokens: true });
  let afterUnknown = -1; // what follows an unknown flag is taken for its value
  for (const token of parsed.tokens ?? []) {
    if (token.kind === 'positional') {
      if (token.index === afterUnknown) continue;
      problems.push(`argument ${JSON.stringify(token.value)} is not expected. Settings are flags.`);
    } else if (token.kind === 'option') {
      const name = byFlag.get(token.name);
      if (name && token.value !== undefined) {
        found.values[name] = token.value;
        found.sources[name] = `--${token.name}`;
      } else if (name) {
        problems.push(`flag --${token.name} has no value. Write --${token.name} VALUE.`);
      } else if (!(actionFlags as readonly string[]).includes(token.name)) {
        afterUnknown = token.index + 1;
        const guess = nearest(token.name, [...byFlag.keys(), ...actionFlags]);
        const advice = guess ? `Did you mean --${guess}?` : 'See --help.';
        problems.push(`flag ${token.rawName} does not exist. ${advice}`);
      }
    }
  }
}

function describeIssue(
  issue: { readonly path: readonly PropertyKey[]; readonly message: string },
  found: Found,
): string {
  const name = String(issue.path[0]);
  const value = found.values[name];
  const both = `--${flagName(name)} or ${variableName(name)}`;
  if (value === undefined) return `setting ${settingName(name)} is missing. Give it with ${both}.`;
  const shown = `${settingName(name)}=${JSON.stringify(value)} (from ${found.sources[name]})`;
  return `setting ${shown} ${issue.message}. Correct ${both}.`;
}

function advertisedProblems(config: BrokerConfig): string[] {
  const problems: string[] = [];
  const names = config.listeners.map((listener) => listener.listener);
  for (const endpoint of config.advertisedListeners ?? config.listeners) {
    const shown = formatEndpoint(endpoint);
    if (isWildcard(endpoint.host)) {
      problems.push(
        `setting advertised.listeners: ${shown} is an address that nobody can connect to. ` +
          `Give a host name or address that clients reach ` +
          `with --advertised-listeners ${endpoint.listener}://HOST:${endpoint.port}.`,
      );
    }
    if (!names.includes(endpoint.listener)) {
      problems.push(
        `setting advertised.listeners: ${shown} names a listener that listeners does not have ` +
          `(it has: ${names.join(', ')}). Name the same listeners in both.`,
      );
    }
  }
  for (const name of config.advertisedListeners ? names : []) {
    if (!config.advertisedListeners?.some((endpoint) => endpoint.listener === name)) {
      problems.push(
        `setting advertised.listeners lacks listener ${name}. Name the same listeners in both.`,
      );
    }
  }
  return problems;
}
