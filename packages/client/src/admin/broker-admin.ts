/** Brokers as the admin shows and alters them, and what their controllers decided. Called by the admin. */
import type { Deadline } from '@tributary/common';
import { TributaryError } from '@tributary/common';
import {
  methods,
  type AlterBrokerRequestInput,
  type BrokerDescription as WireDescription,
} from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';
import { askAnyBroker } from './any-broker';
import { brokerTimeout } from './broker-timeout';
import type {
  AlteredBroker,
  BrokerAlteration,
  BrokerDescription,
  BrokerDuty,
  Decision,
  DecisionList,
} from './cluster-types';

/** A broker that does not answer leaves its decisions out after this, instead of holding up the others. */
export const DECISIONS_MS = 3_000;

const ALL_BROKERS = -1;

const wireDuties = {
  'in service': 'BROKER_DUTY_IN_SERVICE',
  drained: 'BROKER_DUTY_DRAINED',
  decommissioned: 'BROKER_DUTY_DECOMMISSIONED',
} as const satisfies Record<BrokerDuty, AlterBrokerRequestInput['duty']>;

export async function alterBroker(
  context: ClientContext,
  broker: number | 'all',
  { setConfigs, removeConfigs, duty }: BrokerAlteration,
  deadline: Deadline,
): Promise<AlteredBroker> {
  const request = {
    brokerId: broker === 'all' ? ALL_BROKERS : requireId(broker),
    setConfigs: { ...setConfigs },
    removeConfigs: [...(removeConfigs ?? [])],
    ...(duty === undefined ? {} : { duty: wireDuties[duty] }),
    timeoutMs: brokerTimeout(deadline),
  };
  const method = methods.admin.alterBroker;
  const altered = await askAnyBroker(context, method, request, deadline, 'repeatable');
  return { configs: altered.configs, duty: dutyOf(altered.duty) };
}

export async function describeBrokers(
  context: ClientContext,
  deadline: Deadline,
): Promise<BrokerDescription[]> {
  const method = methods.admin.describeBrokers;
  const { brokers } = await askAnyBroker(context, method, {}, deadline, 'question');
  return brokers.map(descriptionOf);
}

/** Of every broker that answers: each knows only what it decided itself. */
export async function listDecisions(
  context: ClientContext,
  limit: number | undefined,
  deadline: Deadline,
): Promise<DecisionList> {
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new TributaryError('INVALID_ARGUMENT', `${limit} is not a count of decisions`);
  }
  const { brokers } = await context.metadata.snapshot(deadline);
  const answers = await Promise.all(brokers.map((broker) => ask(context, broker, limit, deadline)));
  if (deadline.signal?.aborted) deadline.check('listing decisions');
  const decisions = answers.flatMap((answer) => ('decisions' in answer ? answer.decisions : []));
  const unanswered = answers.flatMap((answer) => ('error' in answer ? [answer] : []));
  if (decisions.length === 0 && unanswered[0] && unanswered.length === brokers.length) {
    throw unanswered[0].error;
  }
  // Clocks differ between machines; of two controllers the later one has the higher epoch.
  decisions.sort((a, b) => a.controllerEpoch - b.controllerEpoch || a.at - b.at);
  return { decisions: limit === undefined ? decisions : decisions.slice(-limit), unanswered };
}

type Answer =
  | { readonly decisions: Decision[] }
  | { readonly brokerId: number; readonly error: TributaryError };

async function ask(
  context: ClientContext,
  broker: BrokerNode,
  limit: number | undefined,
  deadline: Deadline,
): Promise<Answer> {
  const { brokerId } = broker;
  try {
    const request = { maxEntries: limit ?? 0 };
    const method = methods.admin.listDecisions;
    const answer = await context.connections.to(broker).call(method, request, {
      timeoutMs: Math.max(1, Math.min(DECISIONS_MS, deadline.remainingMs)),
      ...(deadline.signal ? { signal: deadline.signal } : {}),
    });
    const decisions = answer.decisions.map(({ atMs, controllerEpoch, who, what, why }) => ({
      ...{ brokerId, at: atMs, controllerEpoch, who, what, why },
    }));
    return { decisions };
  } catch (thrown) {
    return { brokerId, error: TributaryError.from(thrown) };
  }
}

function requireId(brokerId: number): number {
  if (Number.isSafeInteger(brokerId) && brokerId >= 0) return brokerId;
  throw new TributaryError('INVALID_ARGUMENT', `${brokerId} is no broker id`);
}

function descriptionOf({ duty, rack, ...rest }: WireDescription): BrokerDescription {
  return { ...rest, rack: rack || undefined, duty: dutyOf(duty) };
}

function dutyOf(duty: WireDescription['duty']): BrokerDuty {
  if (duty === 'BROKER_DUTY_DRAINED') return 'drained';
  return duty === 'BROKER_DUTY_DECOMMISSIONED' ? 'decommissioned' : 'in service';
}
