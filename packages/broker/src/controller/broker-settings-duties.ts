/**
 * How the controller changes what is stored for a broker: settings that apply while it runs, and its duty. Part of
 * `step`. Invariants: one write in flight per broker; nothing is used or published before it is acknowledged.
 */
import type { TributaryError } from '@tributary/common';
import {
  allBrokers,
  type BrokerSettings,
  type VersionedBrokerSettings,
} from '@tributary/coordination';
import type { ControllerDraft } from './controller-draft';
import { dutyOf, type SettingsUpdate } from './controller-state';
import { stayInService } from './decommission-duties';
import { answerFailure } from './topic-update-duties';

/** No write for that broker may be in flight. */
export function beginSettingsUpdate(
  draft: ControllerDraft,
  settings: BrokerSettings,
  update: SettingsUpdate,
): void {
  const { brokerId } = settings;
  const { brokerSettings, settingsInFlight } = draft.state;
  draft.change({ settingsInFlight: new Map(settingsInFlight).set(brokerId, update) });
  const expectedVersion = brokerSettings.get(brokerId)?.version;
  draft.effect({ type: 'write-settings', settings, expectedVersion });
}

export function onSettingsWritten(draft: ControllerDraft, settings: VersionedBrokerSettings): void {
  const update = endUpdate(draft, settings.brokerId);
  if (!update) return;
  const wasLeaving = dutyOf(draft.state, settings.brokerId) === 'decommissioned';
  if (wasLeaving && settings.duty !== 'decommissioned') stayInService(draft, settings.brokerId);
  draft.journal(nameOf(settings.brokerId), 'settings changed', update.why);
  takeSettings(draft, [settings]);
  for (const command of update.commands) draft.effectAfter({ type: 'answer-command', ...command });
}

/** Not fatal: somebody else wrote first. They are read again. */
export function onSettingsFailed(
  draft: ControllerDraft,
  brokerId: number,
  error: TributaryError,
): void {
  const update = endUpdate(draft, brokerId);
  if (!update) return;
  draft.journal(nameOf(brokerId), 'settings could not be changed', error.message);
  draft.effect({ type: 'read-settings' });
  for (const command of update.commands) answerFailure(draft, command, error);
}

/** As read: newer ones count. */
export function takeSettings(
  draft: ControllerDraft,
  read: readonly VersionedBrokerSettings[],
): void {
  const brokerSettings = new Map(draft.state.brokerSettings);
  for (const settings of read) {
    const { brokerId, version } = settings;
    if ((brokerSettings.get(brokerId)?.version ?? -1) >= version) continue;
    brokerSettings.set(brokerId, settings);
    const changed = brokerId === allBrokers ? [...draft.allBrokers().keys()] : [brokerId];
    for (const id of changed) draft.publishBroker(id);
  }
  draft.change({ brokerSettings });
}

function endUpdate(draft: ControllerDraft, brokerId: number): SettingsUpdate | undefined {
  const settingsInFlight = new Map(draft.state.settingsInFlight);
  const update = settingsInFlight.get(brokerId);
  settingsInFlight.delete(brokerId);
  draft.change({ settingsInFlight });
  return update;
}

function nameOf(brokerId: number): string {
  return brokerId === allBrokers ? 'all brokers' : `broker ${brokerId}`;
}
