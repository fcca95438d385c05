/** Accepts the loss of a damaged replica, on the broker that has it. Called by the admin. */
import { TributaryError, type Deadline } from '@tributary/common';
import { methods, type AcceptLossResponse } from '@tributary/protocol';
import type { BrokerNode, ClientContext, TopicView } from '../seams';
import type { AcceptedLoss, AcceptLossOptions } from './admin-types';

export interface DamagedReplica extends Pick<AcceptLossOptions, 'brokerId' | 'force'> {
  readonly topic: TopicView;
  readonly partition: number;
  /** How long the broker may wait for a leader. */
  readonly timeoutMs: number;
}

export async function acceptLoss(
  context: ClientContext,
  { topic, partition, brokerId, force = false, timeoutMs }: DamagedReplica,
  deadline: Deadline,
): Promise<AcceptedLoss> {
  const broker = await findBroker(context, brokerId, deadline);
  const request = { topic: topic.topic, topicId: topic.topicId, partition, brokerId, force };
  const answer = await context.connections.to(broker).call(
    methods.admin.acceptLoss,
    { ...request, timeoutMs },
    {
      timeoutMs: Math.max(1, deadline.remainingMs),
      ...(deadline.signal ? { signal: deadline.signal } : {}),
    },
  );
  return toAcceptedLoss(answer);
}

async function findBroker(
  context: ClientContext,
  brokerId: number,
  deadline: Deadline,
): Promise<BrokerNode> {
  const { brokers } = await context.metadata.snapshot(deadline);
  const found = brokers.find((broker) => broker.brokerId === brokerId);
  if (found) return found;
  const known = brokers.map((broker) => broker.brokerId).join(', ') || 'none';
  const message = `broker ${brokerId} is not in the cluster now; there are: ${known}`;
  throw new TributaryError('UNKNOWN_BROKER', message);
}

function toAcceptedLoss(answer: AcceptLossResponse): AcceptedLoss {
  const { topic, topicId, partition, lost, logStartOffset, logEndOffset } = answer;
  return {
    topic,
    topicId,
    partition,
    lost: lost.map(({ fromOffset, toOffset, file, position }) => ({
      fromOffset: BigInt(fromOffset),
      toOffset: BigInt(toOffset),
      file,
      position,
    })),
    startOffset: BigInt(logStartOffset),
    endOffset: BigInt(logEndOffset),
  };
}
