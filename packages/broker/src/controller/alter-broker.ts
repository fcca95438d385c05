/** Settings and duty of a broker, as a person asks for them. Part of `step`, called by the command duties. */
import { TributaryError } from '@tributary/common';
import type { AlterBrokerRequest } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';

export function alterBroker(
  _draft: ControllerDraft,
  _command: PendingCommand,
  _request: AlterBrokerRequest,
): void {
  throw new TributaryError('INVALID_ARGUMENT', 'this controller cannot do that');
}
