/** What a broker's hello tells of the process before it, as the controller keeps it. Called by the broker duties. */
import { partitionKey } from '@tributary/common';
import type { StopKind } from '@tributary/protocol';
import type { ToldPast } from './controller-event';
import type { BrokerPast, ReplicaPast } from './controller-state';

/** What is not known is taken for the worst. */
const stops: Readonly<Record<StopKind, BrokerPast['stop']>> = {
  STOP_KIND_UNSPECIFIED: 'machine',
  STOPPED_CLEANLY: 'clean',
  STOPPED_BY_PROCESS: 'process',
  STOPPED_BY_MACHINE: 'machine',
  NEVER_RAN: 'never ran',
};

export function pastOf(told: ToldPast): BrokerPast {
  const { previousStop, previousBrokerEpoch, earlierBrokerEpochs } = told;
  const byKey = told.replicas.map((replica): [string, ReplicaPast] => {
    const { lastEpoch, logEndOffset, cutBelowHighWatermark, completeAgain } = replica;
    const key = partitionKey(replica.topicId, replica.partition);
    return [key, { lastEpoch, logEndOffset, cutBelowHighWatermark, completeAgain }];
  });
  return {
    stop: stops[previousStop],
    brokerEpoch: previousBrokerEpoch,
    earlierEpochs: new Set(earlierBrokerEpochs),
    replicas: new Map(byKey),
  };
}
