/**
 * Commands that wait until what is being written about their topic or broker is written: then they are decided anew, in
 * the order in which they came. Called by the duties that begin writes; `command-duties.ts` decides again.
 */
import { TributaryError } from '@tributary/common';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';

/** Each is a person's, or a script's, that waits for an answer. */
export const maxWaitingCommands = 1_000;

/** Throws OVERLOADED. */
export function waitForWrite(draft: ControllerDraft, command: PendingCommand): void {
  const { waitingCommands } = draft.state;
  if (waitingCommands.length >= maxWaitingCommands) {
    const message = `more than ${maxWaitingCommands} commands wait for the controller`;
    throw new TributaryError('OVERLOADED', message, { outcome: 'not written' });
  }
  draft.change({ waitingCommands: [...waitingCommands, command] });
}

/** All of them, which wait no more. */
export function takeWaiting(draft: ControllerDraft): readonly PendingCommand[] {
  const { waitingCommands } = draft.state;
  if (waitingCommands.length > 0) draft.change({ waitingCommands: [] });
  return waitingCommands;
}
