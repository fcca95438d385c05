/** Settings and count of partitions of a topic, as a person asks for them. Part of `step`, called by the command duties. */
import { TributaryError } from '@tributary/common';
import type { AlterTopicRequest } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand } from './controller-state';

export function alterTopic(
  _draft: ControllerDraft,
  _command: PendingCommand,
  _request: AlterTopicRequest,
): void {
  throw new TributaryError('INVALID_ARGUMENT', 'this controller cannot do that');
}
