/**
 * Settings and duty of a broker, as a person asks for them, or the settings of all brokers. Part of `step`, called by the
 * command duties. What a duty means for partitions is decided where they are looked at again.
 */
import { brokerSetting, parseBrokerConfig, TributaryError } from '@tributary/common';
import { allBrokers, type BrokerDuty, type BrokerSettings } from '@tributary/coordination';
import type { AlterBrokerRequest } from '@tributary/protocol';
import { dutyFromWire, wireDuties } from '../metadata/broker-duty';
import { beginSettingsUpdate } from './broker-settings-duties';
import type { ControllerDraft } from './controller-draft';
import { dutyOf, type PendingCommand } from './controller-state';
import { waitForWrite } from './waiting-commands';

export function alterBroker(
  draft: ControllerDraft,
  command: PendingCommand,
  request: AlterBrokerRequest,
): void {
  const { brokerId } = request;
  checkBroker(draft, request);
  const configs = alteredConfigs(draft, request);
  const had = dutyOf(draft.state, brokerId);
  const duty = dutyFromWire(request.duty) ?? had;
  if (draft.state.settingsInFlight.has(brokerId)) return waitForWrite(draft, command);
  const stored = draft.state.brokerSettings.get(brokerId)?.configs ?? {};
  const { requestId } = command.request;
  const alteredBroker = { configs: { ...configs }, duty: wireDuties[duty] };
  const answer = { alteredBroker, outcome: 'alteredBroker' } as const;
  if (duty === had && isSame(configs, stored)) {
    return draft.effectAfter({
      type: 'answer-command',
      brokerId: command.brokerId,
      requestId,
      answer,
    });
  }
  const settings: BrokerSettings = { brokerId, configs, duty };
  const commands = [{ brokerId: command.brokerId, requestId, answer }];
  const why = whyOf({ configs: stored, duty: had }, settings);
  beginSettingsUpdate(draft, settings, { why, commands });
}

/** Throws UNKNOWN_BROKER, INVALID_ARGUMENT. */
function checkBroker(draft: ControllerDraft, { brokerId, duty }: AlterBrokerRequest): void {
  if (brokerId === allBrokers) {
    if (dutyFromWire(duty) === undefined) return;
    throw new TributaryError('INVALID_ARGUMENT', 'all brokers cannot have one duty', {
      hint: 'Name the broker.',
    });
  }
  if (isKnown(draft, brokerId)) return;
  const message = `broker ${brokerId} is not registered, and no replica is assigned to it`;
  throw new TributaryError('UNKNOWN_BROKER', message);
}

/** Registered, or spoken of: one that is gone for good can still be decommissioned. */
function isKnown(draft: ControllerDraft, brokerId: number): boolean {
  if (draft.broker(brokerId) || draft.state.brokerSettings.has(brokerId)) return true;
  return [...draft.allTopics().values()].some(({ partitions }) =>
    partitions.some(({ replicas }) => replicas.includes(brokerId)),
  );
}

/** Throws INVALID_CONFIG. */
function alteredConfigs(
  draft: ControllerDraft,
  { brokerId, setConfigs, removeConfigs }: AlterBrokerRequest,
): BrokerSettings['configs'] {
  const stored = draft.state.brokerSettings.get(brokerId)?.configs ?? {};
  parseBrokerConfig(setConfigs);
  for (const name of removeConfigs) {
    if (Object.hasOwn(setConfigs, name)) {
      const message = `broker setting ${name} is both set and removed`;
      throw new TributaryError('INVALID_CONFIG', message);
    }
    if (!Object.hasOwn(stored, name)) brokerSetting(name);
  }
  const kept = Object.entries(stored).filter(([name]) => !removeConfigs.includes(name));
  return { ...Object.fromEntries(kept), ...setConfigs };
}

function isSame(a: BrokerSettings['configs'], b: BrokerSettings['configs']): boolean {
  const names = Object.keys({ ...a, ...b });
  return names.every((name) => a[name] === b[name]);
}

function whyOf(before: Omit<BrokerSettings, 'brokerId'>, after: BrokerSettings): string {
  const names = Object.keys({ ...before.configs, ...after.configs });
  const changes = names.flatMap((name) => {
    const value = after.configs[name];
    if (value === before.configs[name]) return [];
    return [value === undefined ? `${name} removed` : `${name}=${value}`];
  });
  const duty: BrokerDuty[] = before.duty === after.duty ? [] : [after.duty];
  return `asked for: ${[...duty, ...changes].join(', ')}`;
}
