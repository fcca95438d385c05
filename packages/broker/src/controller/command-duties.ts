/**
 * What a person asks of the controller: checked and handed to the duty that decides. Part of `step`. Invariant: every
 * command is answered exactly once, at the latest when what it began is written or the controller resigns.
 */
import { TributaryError } from '@tributary/common';
import { alterBroker } from './alter-broker';
import { alterTopic, type AlterTopicSettings } from './alter-topic';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';
import { electLeaders } from './elect-leaders';
import { reassignPartitions } from './reassign-partitions';
import { answerFailure } from './topic-update-duties';
import { takeWaiting } from './waiting-commands';

export type CommandSettings = AlterTopicSettings;

export function onCommand(
  draft: ControllerDraft,
  command: PendingCommand,
  settings: CommandSettings,
): void {
  const { brokerId, request } = command;
  const refuse = (error: TributaryError): void =>
    answerFailure(draft, { brokerId, requestId: request.requestId }, error);
  if (draft.broker(brokerId)?.registration.brokerEpoch !== request.brokerEpoch) {
    const message = `broker ${brokerId} has another broker epoch now`;
    return refuse(new TributaryError('FENCED_BROKER_EPOCH', message, { outcome: 'not written' }));
  }
  if (draft.state.phase !== 'active') {
    const message = 'the controller has just begun and does not know all brokers yet';
    return refuse(new TributaryError('UNAVAILABLE', message, { outcome: 'not written' }));
  }
  try {
    dispatch(draft, command, settings);
  } catch (thrown) {
    refuse(TributaryError.from(thrown).withOutcome('not written'));
  }
}

/** After each write: those who waited for it are decided now, or wait for the next one. */
export function decideWaiting(draft: ControllerDraft, settings: CommandSettings): void {
  for (const command of takeWaiting(draft)) onCommand(draft, command, settings);
}

/** A duty answers by itself, or throws before it has begun anything. */
function dispatch(
  draft: ControllerDraft,
  command: PendingCommand,
  settings: CommandSettings,
): void {
  const { request } = command;
  if (request.alterTopic) return alterTopic(draft, command, request.alterTopic, settings);
  if (request.reassignPartitions) {
    return reassignPartitions(draft, command, request.reassignPartitions);
  }
  if (request.electLeaders) return electLeaders(draft, command, request.electLeaders);
  if (request.alterBroker) return alterBroker(draft, command, request.alterBroker);
  throw new TributaryError('INVALID_ARGUMENT', 'a command that this controller does not know');
}
