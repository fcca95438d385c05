/**
 * Admin/AcceptLoss: repairs a damaged replica of this broker with the loss of what is damaged, then waits until the
 * partition is led again. A timeout says that the repair is done: it is an error about waiting. Called by `dataHandlers`.
 */
import { Deadline, sleep, TributaryError } from '@tributary/common';
import {
  methods,
  unaryHandler,
  type AcceptLossRequest,
  type AcceptLossResponseInput,
  type CallContext,
  type Handler,
} from '@tributary/protocol';
import type { PartitionName } from '../replication/image-view';
import type { AcceptedLoss } from '../replication/loss-acceptance';
import type { DataHost } from './data-host';

/** Between two looks at the image while it is waited for a leader. */
const POLL_MS = 20;
const DEFAULT_TIMEOUT_MS = 30_000;

export interface LossHost extends Pick<DataHost, 'clock' | 'acceptor' | 'currentImage'> {
  acceptLoss(name: PartitionName, force: boolean): Promise<AcceptedLoss>;
}

export function acceptLossHandler(host: LossHost): Handler {
  return unaryHandler(methods.admin.acceptLoss, (request, context) =>
    acceptLoss(host, request, context),
  );
}

async function acceptLoss(
  host: LossHost,
  request: AcceptLossRequest,
  { signal }: CallContext,
): Promise<AcceptLossResponseInput> {
  const { brokerId } = host.acceptor();
  if (request.brokerId !== brokerId) {
    const message = `the loss on broker ${request.brokerId} cannot be accepted by broker ${brokerId}`;
    throw new TributaryError('BROKER_MISMATCH', message);
  }
  const { topic, partition } = request;
  const topicId = request.topicId || (host.currentImage?.topicByName(topic)?.topicId ?? '');
  const name = { topic, topicId, partition };
  const deadline = Deadline.after(host.clock, request.timeoutMs || DEFAULT_TIMEOUT_MS, signal);
  const { lost, logStartOffset, logEndOffset } = await host.acceptLoss(name, request.force);
  await untilLed(host, name, deadline);
  return {
    ...name,
    lost: lost.map(({ path, ...range }) => ({ ...range, file: path })),
    logStartOffset,
    logEndOffset,
  };
}

async function untilLed(host: LossHost, name: PartitionName, deadline: Deadline): Promise<void> {
  const { topic, topicId, partition } = name;
  while ((host.currentImage?.partition(topicId, partition)?.leader ?? -1) < 0) {
    if (deadline.remainingMs <= 0) {
      const message = `${topic}-${partition} is repaired, but nobody leads it yet`;
      throw new TributaryError('TIMEOUT', message, { outcome: 'written' });
    }
    await sleep(host.clock, POLL_MS, deadline.signal);
  }
}
