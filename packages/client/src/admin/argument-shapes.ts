/**
 * What the arguments of the admin's calls look like, for callers whose compiler did not check them: one that is wrong is refused
 * by name, together with the right form, before anything is sent. Values are left to the brokers, which know the limits.
 * Called by the admin.
 */
import { TributaryError } from '@tributary/common';

export interface Shape {
  /** As an error shows it. */
  readonly form: string;
  readonly isOptional?: boolean;
  /** What is wrong with `value`, which the caller knows as `at`; undefined: nothing. */
  problem(value: unknown, at: string): string | undefined;
}

/** Rejects with INVALID_ARGUMENT, 'not written'. @param call as the user wrote it: `electLeaders`. */
export function requireShape(call: string, at: string, value: unknown, shape: Shape): void {
  const problem = shape.problem(value, at);
  if (problem === undefined) return;
  throw new TributaryError('INVALID_ARGUMENT', `${call}: ${problem}`, {
    hint: `${at}: ${shape.form}`,
    outcome: 'not written',
  });
}

function simple(form: string, fits: (value: unknown) => boolean): Shape {
  return {
    form,
    problem: (value, at) => (fits(value) ? undefined : `${at} is ${shown(value)}, not ${form}`),
  };
}

const text = simple('a text', (value) => typeof value === 'string');
const flag = simple('true or false', (value) => typeof value === 'boolean');
const whole = simple('a whole number', (value) => Number.isSafeInteger(value));
const milliseconds = simple('a count of milliseconds', (value) => {
  return typeof value === 'number' && !Number.isNaN(value);
});
const signal = simple('an AbortSignal', (value) => value instanceof AbortSignal);

function oneOf(...allowed: readonly string[]): Shape {
  const form = allowed.map((one) => `'${one}'`).join(' | ');
  return simple(form, (value) => allowed.includes(value as string));
}

function optional(shape: Shape): Shape {
  return {
    ...{ form: shape.form, isOptional: true },
    problem: (value, at) => (value === undefined ? undefined : shape.problem(value, at)),
  };
}

function listOf(shape: Shape): Shape {
  const form = `[${shape.form}, ...]`;
  return {
    form,
    problem(value, at) {
      if (!Array.isArray(value)) return `${at} is ${shown(value)}, not a list`;
      for (const [index, item] of value.entries()) {
        const problem = shape.problem(item, `${at}[${index}]`);
        if (problem !== undefined) return problem;
      }
      return undefined;
    },
  };
}

function object(fields: Readonly<Record<string, Shape>>): Shape {
  const parts = Object.entries(fields).map(([name, { form, isOptional }]) => `${name}${isOptional ? '?' : ''}: ${form}`); // prettier-ignore
  const form = `{ ${parts.join(', ')} }`;
  return {
    form,
    problem(value, at) {
      if (!isObject(value)) return `${at} is ${shown(value)}, not an object`;
      const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
      if (unknown !== undefined) return `${at}.${unknown} is not known`;
      for (const [name, shape] of Object.entries(fields)) {
        const problem = shape.problem(value[name], `${at}.${name}`);
        if (problem !== undefined) return problem;
      }
      return undefined;
    },
  };
}

const deletions: Shape = {
  form: "{ [partition]: offset, or 'latest' }",
  problem: (value, at) => (isObject(value) ? undefined : `${at} is ${shown(value)}, not an object`),
};

const configs: Shape = {
  form: '{ name: value as text, ... }',
  problem(value, at) {
    if (!isObject(value)) return `${at} is ${shown(value)}, not an object`;
    const wrong = Object.entries(value).find(([, setting]) => typeof setting !== 'string');
    return wrong && text.problem(wrong[1], `${at}['${wrong[0]}']`);
  },
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return `'${value.slice(0, 40)}'`;
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  return `a ${typeof value}`;
}

/** Of every call. */
const bounds = { timeoutMs: optional(milliseconds), signal: optional(signal) };
const withBounds = (fields: Readonly<Record<string, Shape>> = {}): Shape =>
  object({ ...fields, ...bounds });
const partitionName = { topic: text, partition: whole };

export const shapes = {
  brokerId: simple('the id of a broker, a whole number from 0', (value) => {
    return Number.isSafeInteger(value) && (value as number) >= 0;
  }),
  bounds: withBounds(),
  deletions,
  newTopic: object({
    topic: text,
    partitions: optional(whole),
    replicationFactor: optional(whole),
    configs: optional(configs),
  }),
  validated: withBounds({ validateOnly: optional(flag) }),
  topicAlteration: object({
    setConfigs: optional(configs),
    removeConfigs: optional(listOf(text)),
    partitions: optional(whole),
    newAssignments: optional(listOf(listOf(whole))),
  }),
  moves: listOf(object({ ...partitionName, replicas: listOf(whole) })),
  /** Also what `listReassignments` answers, which knows more of them. */
  cancelled: optional(
    listOf({
      form: '{ topic: a text, partition: a whole number }',
      problem: (value, at) =>
        object(partitionName).problem(
          isObject(value) ? { topic: value['topic'], partition: value['partition'] } : value,
          at,
        ),
    }),
  ),
  listReassignments: withBounds({ topics: optional(listOf(text)), progress: optional(flag) }),
  election: withBounds({
    kind: oneOf('preferred', 'unclean'),
    partitions: optional(listOf(object(partitionName))),
  }),
  brokerAlteration: object({
    setConfigs: optional(configs),
    removeConfigs: optional(listOf(text)),
    duty: optional(oneOf('in service', 'drained', 'decommissioned')),
  }),
  acceptLoss: withBounds({ brokerId: whole, force: optional(flag) }),
  listDecisions: withBounds({ limit: optional(whole) }),
  partitionsOfTopic: withBounds({ partitions: optional(listOf(whole)) }),
  describeTopic: withBounds({ offsets: optional(flag) }),
} as const satisfies Record<string, Shape>;
