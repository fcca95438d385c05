import type { BrokerDescription, TopicListing } from '@tributary/client';
import { dutyProgress } from './duty-progress';

function broker(changes: Partial<BrokerDescription>): BrokerDescription {
  return {
    ...{ brokerId: 2, registered: true, brokerEpoch: 1, host: 'h', port: 1, rack: undefined },
    ...{
      eligible: true,
      controller: false,
      duty: 'drained',
      configs: {},
      ownConfigNames: [],
      leaders: 0,
      replicas: 0,
    },
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
      ...{ eligibleLeaders: [], offlineReplicas: [], addingReplicas: [], removingReplicas: [] },
    })),
  };
}

test('a broker is drained when it leads nothing that another one can lead', () => {
  const before = topicOf([2, [1, 2]], [2, [2]], [1, [1, 2]]);
  expect(dutyProgress('drained', broker({ leaders: 2 }), [before])).toEqual({
    done: false,
    lines: ['broker 2 still leads 1 partition that others can lead'],
  });
  const after = topicOf([1, [1, 2]], [2, [2]], [1, [1, 2]]);
  expect(dutyProgress('drained', broker({ leaders: 1 }), [after])).toEqual({
    done: true,
    lines: ['orders-1: nobody else is in sync, broker 2 goes on leading it', 'broker 2 is drained'],
  });
});

test('a decommissioned broker is done when it has no replica', () => {
  const left = { leaders: 1, replicas: 3, removingReplicas: 1 };
  expect(dutyProgress('decommissioned', broker(left), [])).toEqual({
    done: false,
    lines: ['broker 2 leads 1 partition and has 3 replicas; 1 move away from it is under way'],
  });
  // A replica that has left the assignment is deleted still: its move is not done.
  const last = { leaders: 0, replicas: 1, removingReplicas: 2 };
  expect(dutyProgress('decommissioned', broker(last), []).lines).toEqual([
    'broker 2 leads 0 partitions and has 1 replica; 2 moves away from it are under way',
  ]);
  expect(dutyProgress('decommissioned', broker({}), [])).toMatchObject({ done: true });
});

test('a decommission that cannot end says which partitions have nowhere to go', () => {
  const topic = topicOf([1, [1, 2]], [2, [2]]);
  const left = broker({ leaders: 1, replicas: 2 });
  expect(dutyProgress('decommissioned', left, [topic], [1]).lines).toEqual([
    'broker 2 leads 1 partition and has 2 replicas',
    'no other broker is there to take the replica of orders-0, orders-1: add a broker, or lower the count of replicas (trib topic reassign)',
  ]);
  expect(dutyProgress('decommissioned', left, [topic], [1, 3]).lines).toHaveLength(1);
});

test('a returned broker is done when it may lead; one that is away says so', () => {
  expect(dutyProgress('in service', broker({ eligible: false }), [])).toMatchObject({
    ...{ done: false, lines: ['broker 2 is registered, but may not lead yet'] },
  });
  expect(dutyProgress('in service', broker({ registered: false, eligible: false }), [])).toEqual({
    ...{ done: false, lines: ['broker 2 is away: it may lead when it is started again'] },
  });
  expect(dutyProgress('in service', broker({}), [])).toMatchObject({ done: true });
});
