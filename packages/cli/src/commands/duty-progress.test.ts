import type { BrokerDescription, TopicListing } from '@tributary/client';
import { dutyProgress } from './duty-progress';

function broker(changes: Partial<BrokerDescription>): BrokerDescription {
  return {
    ...{ brokerId: 2, registered: true, brokerEpoch: 1, host: 'h', port: 1, rack: undefined },
    ...{ eligible: true, controller: false, duty: 'drained', configs: {}, leaders: 0, replicas: 0 },
    ...{ outOfSyncReplicas: 0, addingReplicas: 0, removingReplicas: 0 },
    ...changes,
  };
}

/** Partitions with the leader and the ISR given. */
function topicOf(...partitions: [number | undefined, number[]][]): TopicListing {
  return {
    ...{ topic: 'orders', topicId: 'id', configs: {} },
    partitions: partitions.map(([leader, isr], partition) => ({
      ...{ partition, leader, leaderEpoch: 1, replicas: [1, 2], isr },
      ...{ offlineReplicas: [], addingReplicas: [], removingReplicas: [] },
    })),
  };
}

test('a broker is drained when it leads nothing that another one can lead', () => {
  const before = topicOf([2, [1, 2]], [2, [2]], [1, [1, 2]]);
  expect(dutyProgress('drained', broker({ leaders: 2 }), [before])).toEqual({
    done: false,
    lines: ['broker 2 still leads 1 partitions that others can lead'],
  });
  const after = topicOf([1, [1, 2]], [2, [2]], [1, [1, 2]]);
  expect(dutyProgress('drained', broker({ leaders: 1 }), [after])).toEqual({
    done: true,
    lines: ['orders-1: nobody else is in sync, broker 2 goes on leading it', 'broker 2 is drained'],
  });
});

test('a decommissioned broker is done when it has no replica', () => {
  const left = { leaders: 0, replicas: 3, removingReplicas: 1 };
  expect(dutyProgress('decommissioned', broker(left), [])).toMatchObject({
    done: false,
    lines: [expect.stringContaining('has 3 replicas, 1 of them are being moved away')],
  });
  expect(dutyProgress('decommissioned', broker({}), [])).toMatchObject({ done: true });
});

test('a returned broker is done when it may lead', () => {
  expect(dutyProgress('in service', broker({ eligible: false }), [])).toMatchObject({
    done: false,
  });
  expect(dutyProgress('in service', broker({}), [])).toMatchObject({ done: true });
});
