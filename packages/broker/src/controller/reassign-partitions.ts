/** Moves of replicas, as a person asks for them. Part of `step`, called by the command duties. */
import { TributaryError } from '@tributary/common';
import type { ReassignPartitionsRequest } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';

export function reassignPartitions(
  _draft: ControllerDraft,
  _command: PendingCommand,
  _request: ReassignPartitionsRequest,
): void {
  throw new TributaryError('INVALID_ARGUMENT', 'this controller cannot do that');
}
