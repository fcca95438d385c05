/**
 * Controlled shutdown: a broker that is about to stop gives its leaderships and ISR seats away first. The
 * request is answered when nothing that it leads is being written any more. Part of `step`.
 */
import { TributaryError } from '@tributary/common';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife } from './controller-event';
import type { ShutdownRequest } from './controller-state';

/** Shutdown requests that may wait for their answer at once. */
const maxShutdowns = 1_000;

/** False when it was refused: it belongs to another life of that broker (KIP-380). */
export function onShutdownRequest(
  draft: ControllerDraft,
  request: ShutdownRequest & BrokerLife,
): boolean {
  const { brokerId, requestId } = request;
  const broker = draft.broker(brokerId);
  if (broker?.registration.brokerEpoch !== request.brokerEpoch) {
    const message = `broker ${brokerId} has another broker epoch now`;
    const error = new TributaryError('FENCED_BROKER_EPOCH', message);
    draft.effectAfter({ type: 'answer-shutdown', brokerId, requestId, stillLeading: 0, error });
    return false;
  }
  const { shutdowns } = draft.state;
  if (shutdowns.length < maxShutdowns) {
    draft.change({ shutdowns: [...shutdowns, { brokerId, requestId }] });
  }
  if (!broker.leaving) {
    draft.setBroker({ ...broker, leaving: true });
    draft.journal(`broker ${brokerId}`, 'leaving', 'it asked for controlled shutdown');
  }
  return true;
}

export function answerShutdowns(draft: ControllerDraft): void {
  const { shutdowns, phase } = draft.state;
  if (shutdowns.length === 0 || phase !== 'active') return;
  const left: ShutdownRequest[] = [];
  for (const { brokerId, requestId } of shutdowns) {
    const { leading, moving } = leadershipsOf(draft, brokerId);
    if (moving > 0) left.push({ brokerId, requestId });
    else {
      const stillLeading = leading;
      draft.effectAfter({ type: 'answer-shutdown', brokerId, requestId, stillLeading });
    }
  }
  draft.change({ shutdowns: left });
}

function leadershipsOf(
  draft: ControllerDraft,
  brokerId: number,
): { readonly leading: number; readonly moving: number } {
  let leading = 0;
  let moving = 0;
  for (const topic of draft.allTopics().values()) {
    if (topic.deletion) continue;
    for (const { stored, write } of topic.partitions) {
      if (stored?.leader !== brokerId) continue;
      leading += 1;
      if (write) moving += 1;
    }
  }
  return { leading, moving };
}
