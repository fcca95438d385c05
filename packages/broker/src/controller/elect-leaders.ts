/** Elections that a person asks for. Part of `step`, called by the command duties. */
import { TributaryError } from '@tributary/common';
import type { ElectLeadersRequest } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';

export function electLeaders(
  _draft: ControllerDraft,
  _command: PendingCommand,
  _request: ElectLeadersRequest,
): void {
  throw new TributaryError('INVALID_ARGUMENT', 'this controller cannot do that');
}
