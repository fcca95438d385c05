/**
 * The controller as a pure function: (state, event, now) -> { state, effects }. One event at a time; the
 * driver executes the effects and feeds back what came of them.
 *
 * Every duty is written as "look again": an event changes what is known, then each partition (or topic, or
 * shutdown) that it may concern is compared with what it should be. So no order of events can leave
 * anything half done: what could not be decided now is decided when the next event arrives.
 *
 * A resigned controller does nothing whatever comes (KAFKA-4447).
 */
import { hasCode, type ErrorCode } from '@tributary/common';
import { isResolved, isTrusted } from './broker-standing';
import { onBrokersChanged, onLate, onStreamEvent } from './broker-duties';
import { onSettingsFailed, onSettingsWritten, takeSettings } from './broker-settings-duties';
import { decideWaiting, onCommand } from './command-duties';
import { ControllerDraft, type Step } from './controller-draft';
import type {
  ControllerContext,
  ControllerEvent,
  ControllerTimer,
  OwedSettlement,
} from './controller-event';
import type { ControllerState } from './controller-state';
import { pursueDecommissions } from './decommission-duties';
import { answerElections } from './elections';
import { onMovedAway, pursueMoves, tellRemovedOn } from './move-duties';
import { onReplicasOffline, onReplicasRestored } from './outage-duties';
import {
  onAlteration,
  onStatesWritten,
  reconcileAll,
  reconcileThese,
  waitingAlterations,
} from './partition-duties';
import { onOwedSettlement, onOwedStopped, pursueOwed, takeOwed, tellOwed } from './owed-deletions';
import { onOwedReplicasStopped, pursueOwedReplicas, tellOwedReplicas } from './owed-replicas';
import { giveBack, onSteadinessTick } from './preferred-leaders';
import type { StepSettings } from './step-settings';
import { onSuspectStable } from './suspicion-duties';
import { answerShutdowns, onShutdownRequest } from './shutdown-duties';
import {
  addTopic,
  markDeletions,
  onDeletionCompleted,
  onDeletionFailed,
  onReplicasStopped,
  onTopicsChanged,
  pursueDeletions,
  retryLater,
  stopReplicasOf,
} from './topic-duties';
import { answerCommandsInFlight, onTopicUpdated, onTopicUpdateFailed } from './topic-update-duties';

/** Another controller exists, or it cannot be known whether a write happened. */
const fatalCodes: readonly ErrorCode[] = [
  'STALE_CONTROLLER_EPOCH',
  'COORDINATOR_UNAVAILABLE',
  'SESSION_EXPIRED',
];

type IntentEvent = Extract<
  ControllerEvent,
  {
    type:
      | 'topic-updated'
      | 'topic-update-failed'
      | 'settings-written'
      | 'settings-failed'
      | 'settings-read'
      | 'command';
  }
>;

export function initialState(controllerId: number, controllerEpoch: number): ControllerState {
  return {
    controllerId,
    controllerEpoch,
    phase: 'starting',
    sequence: 0,
    brokers: new Map(),
    topics: new Map(),
    shutdowns: [],
    brokerSettings: new Map(),
    settingsInFlight: new Map(),
    waitingCommands: [],
    elections: [],
    steadinessTicks: 0,
    suspicions: new Map(),
    returning: new Set(),
    owedDeletions: new Map(),
  };
}

export function step(state: ControllerState, event: ControllerEvent, settings: StepSettings): Step {
  if (state.phase === 'resigned') return { state, effects: [] };
  const draft = new ControllerDraft(state, settings);
  take(draft, event, settings);
  if (draft.state.phase === 'starting') beginWhenResolved(draft, settings);
  if (draft.state.phase !== 'resigned') answerShutdowns(draft);
  return draft.finish();
}

function take(draft: ControllerDraft, event: ControllerEvent, settings: StepSettings): void {
  switch (event.type) {
    case 'elected':
      return takeOffice(draft, event.context, settings);
    case 'brokers-changed':
      if (onBrokersChanged(draft, event.brokers)) lookAgain(draft, settings);
      return;
    case 'stream-up':
    case 'stream-down':
    case 'refused':
    case 'acknowledged': {
      const moved = onStreamEvent(draft, event);
      if (!moved) return;
      if (draft.broker(event.brokerId)?.standing === 'ready') tellAgain(draft, event.brokerId);
      return lookAgain(draft, settings);
    }
    case 'late':
      if (onLate(draft, event.brokers) === 'most') return resign(draft, 'most brokers are silent');
      return lookAgain(draft, settings);
    case 'suspect-stable':
      return onSuspectStable(draft, event);
    case 'topics-changed':
      onTopicsChanged(draft, event.names, event.topics);
      decideWaiting(draft, settings);
      return lookAgain(draft, settings);
    case 'deletions-changed':
      markDeletions(draft, event.markers);
      return pursueDeletions(draft, settings);
    case 'deletion-completed':
    case 'deletion-failed':
    case 'owed-settled':
    case 'owed-failed':
      return takeRemoval(draft, event, settings);
    case 'states-written':
      reconcileThese(draft, onStatesWritten(draft, event.outcomes));
      decideWaiting(draft, settings);
      pursueMoves(draft);
      return pursueDeletions(draft, settings);
    case 'write-failed':
      return resign(draft, writeFailure(event.error));
    case 'topic-updated':
    case 'topic-update-failed':
    case 'settings-written':
    case 'settings-failed':
    case 'settings-read':
    case 'command':
      return takeIntent(draft, event, settings);
    case 'alter-partition':
      return onAlteration(draft, event);
    case 'controlled-shutdown':
      if (onShutdownRequest(draft, event)) lookAgain(draft, settings);
      return;
    case 'replicas-stopped':
      return takeStopped(draft, event, settings);
    case 'replicas-offline':
      if (onReplicasOffline(draft, event)) lookAgain(draft, settings);
      return;
    case 'replicas-restored':
      if (onReplicasRestored(draft, event)) lookAgain(draft, settings);
      return;
    case 'timer':
      return onTimer(draft, event.timer, settings);
    case 'resign':
      return resign(draft, event.why);
  }
}

function onTimer(draft: ControllerDraft, timer: ControllerTimer, settings: StepSettings): void {
  switch (timer) {
    case 'stream-grace':
      return begin(draft, settings, 'the time for it is over');
    case 'deletion-retry':
      for (const brokerId of draft.allBrokers().keys()) tellAgain(draft, brokerId);
      pursueMoves(draft);
      pursueOwed(draft);
      pursueOwedReplicas(draft);
      return pursueDeletions(draft, settings);
    case 'preferred-leaders':
      return onSteadinessTick(draft);
    case 'preferred-lot':
      return giveBack(draft);
  }
}

/** Whatever each of them was told to go for: its topic is deleted, or it was moved away. */
function takeStopped(
  draft: ControllerDraft,
  event: Extract<ControllerEvent, { type: 'replicas-stopped' }>,
  settings: StepSettings,
): void {
  onReplicasStopped(draft, event);
  onMovedAway(draft, event);
  onOwedStopped(draft, event);
  onOwedReplicasStopped(draft, event);
  pursueMoves(draft);
  pursueOwedReplicas(draft);
  pursueDeletions(draft, settings);
}

/** What came of removing the nodes of a deletion. */
function takeRemoval(
  draft: ControllerDraft,
  event:
    Extract<ControllerEvent, { type: 'deletion-completed' | 'deletion-failed' }> | OwedSettlement,
  settings: StepSettings,
): void {
  const error = 'error' in event ? event.error : undefined;
  if (error && fatalCodes.includes(error.code)) return resign(draft, writeFailure(error));
  if (event.type === 'deletion-completed') onDeletionCompleted(draft, event.topicId);
  else if (event.type === 'deletion-failed') {
    onDeletionFailed(draft, event.topicId, event.error.message);
  } else onOwedSettlement(draft, event);
  decideWaiting(draft, settings);
  if (error) retryLater(draft, settings);
}

/** What people asked for, and what came of writing it down. */
function takeIntent(draft: ControllerDraft, event: IntentEvent, settings: StepSettings): void {
  if (event.type === 'command') return onCommand(draft, event, settings);
  onIntentWritten(draft, event, settings);
  if (draft.state.phase !== 'resigned') decideWaiting(draft, settings);
}

function onIntentWritten(
  draft: ControllerDraft,
  event: Exclude<IntentEvent, { type: 'command' }>,
  settings: StepSettings,
): void {
  switch (event.type) {
    case 'topic-updated':
      onTopicUpdated(draft, event.record);
      return lookAgain(draft, settings);
    case 'topic-update-failed':
      if (fatalCodes.includes(event.error.code)) return resign(draft, writeFailure(event.error));
      return onTopicUpdateFailed(draft, event.topicId, event.error);
    case 'settings-written':
      onSettingsWritten(draft, event.settings);
      return lookAgain(draft, settings);
    case 'settings-failed':
      if (fatalCodes.includes(event.error.code)) return resign(draft, writeFailure(event.error));
      return onSettingsFailed(draft, event.brokerId, event.error);
    case 'settings-read':
      takeSettings(draft, event.settings);
      return lookAgain(draft, settings);
  }
}

function takeOffice(
  draft: ControllerDraft,
  context: ControllerContext,
  settings: StepSettings,
): void {
  const { controllerId, controllerEpoch } = draft.state;
  draft.journal(`broker ${controllerId}`, `controller in epoch ${controllerEpoch}`, 'elected');
  for (const registration of context.brokers) draft.addBroker(registration);
  takeSettings(draft, context.brokerSettings);
  for (const topic of context.topics) addTopic(draft, topic);
  markDeletions(draft, context.deletions);
  takeOwed(draft, context.owedDeletions ?? []);
  const { controlStreamGraceMs: delayMs } = settings;
  draft.effect({ type: 'set-timer', timer: 'stream-grace', delayMs });
}

/** A new controller acts as soon as it knows of every registered broker whether it is there. */
function beginWhenResolved(draft: ControllerDraft, settings: StepSettings): void {
  const brokers = [...draft.allBrokers().values()];
  if (brokers.length === 0 || !brokers.every((broker) => isResolved(broker.standing))) return;
  begin(draft, settings, 'all registered brokers are accounted for');
}

function begin(draft: ControllerDraft, settings: StepSettings, why: string): void {
  if (draft.state.phase !== 'starting') return;
  draft.change({ phase: 'active' });
  const brokers = [...draft.allBrokers().values()];
  const trusted = brokers.filter((broker) => isTrusted(broker.standing)).length;
  draft.journal('controller', `begins with ${trusted} of ${brokers.length} brokers`, why);
  for (const brokerId of draft.allBrokers().keys()) tellAgain(draft, brokerId);
  lookAgain(draft, settings);
}

function lookAgain(draft: ControllerDraft, settings: StepSettings): void {
  if (draft.state.phase !== 'active') return;
  pursueDecommissions(draft);
  reconcileAll(draft);
  pursueMoves(draft);
  pursueDeletions(draft, settings);
  pursueOwed(draft);
  pursueOwedReplicas(draft);
}

/** What this broker is to delete and has not confirmed. */
function tellAgain(draft: ControllerDraft, brokerId: number): void {
  stopReplicasOf(draft, brokerId);
  tellRemovedOn(draft, brokerId);
  tellOwed(draft, brokerId);
  tellOwedReplicas(draft, brokerId);
}

/** Those who wait for an answer learn that it will not come from here. */
function resign(draft: ControllerDraft, why: string): void {
  for (const alter of waitingAlterations(draft)) {
    draft.effect({
      type: 'answer-alteration',
      brokerId: alter.brokerId,
      requestId: alter.request.requestId,
      outcome: { error: alter.error },
    });
  }
  answerCommandsInFlight(draft);
  answerElections(draft);
  const { controllerId, controllerEpoch } = draft.state;
  draft.journal(`broker ${controllerId}`, `resigns in epoch ${controllerEpoch}`, why);
  draft.change({ phase: 'resigned', shutdowns: [] });
  draft.effectAfter({ type: 'resign', why });
}

function writeFailure(error: unknown): string {
  if (hasCode(error, 'STALE_CONTROLLER_EPOCH')) return 'a newer controller exists';
  const message = error instanceof Error ? error.message : String(error);
  return `outcome of a write unknown: ${message}`;
}
