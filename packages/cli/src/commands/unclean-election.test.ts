import { uncleanRefusal } from './unclean-election';

const live = new Set([1, 4]);

/** Replicas 1, 2, 3 without a leader; only 2 is in sync. */
function partition(number: number, changes: object = {}) {
  return {
    ...{ partition: number, leader: undefined, leaderEpoch: 4, replicas: [1, 2, 3], isr: [2] },
    ...{ eligibleLeaders: [], offlineReplicas: [], addingReplicas: [], removingReplicas: [] },
    ...changes,
  };
}

const topicOf = (...partitions: ReturnType<typeof partition>[]) => ({
  topic: 'orders',
  partitions,
});

describe('an unclean election that is not confirmed yet', () => {
  test('says who could lead, who is missing, and what is lost', () => {
    expect(uncleanRefusal(topicOf(partition(0)), 0, live)).toMatchObject({
      code: 'LOSS_NOT_CONFIRMED',
      message:
        'broker 1 could lead orders-0; broker 2 would lose nothing, but is missing: records that only it has would be lost for good',
      hint: expect.stringContaining('--yes'),
    });
  });

  test('eligible leaders count like those in sync; a damaged replica is no candidate', () => {
    const damaged = partition(0, {
      eligibleLeaders: [3],
      offlineReplicas: [{ brokerId: 1, reason: 'disk' }],
    });
    expect(uncleanRefusal(topicOf(damaged), 0, live).message).toBe(
      'no replica of orders-0 can lead now; brokers 2, 3 would lose nothing, but are missing: records that only they have would be lost for good',
    );
  });

  test('of a whole topic: each partition without a leader', () => {
    const topic = topicOf(partition(0), partition(1, { leader: 1 }), partition(2, { isr: [1] }));
    expect(uncleanRefusal(topic, undefined, live).message).toMatch(
      /^broker 1 could lead orders-0; .*; orders-2 has no leader at this moment, and broker 1 can lead without any loss$/,
    );
  });

  test('a healthy partition has nothing to elect; one that is not there is not found', () => {
    const topic = topicOf(partition(0, { leader: 1 }));
    expect(uncleanRefusal(topic, 0, live)).toMatchObject({
      code: 'INELIGIBLE_REPLICA',
      message: 'orders-0 is led by broker 1: there is nothing to elect',
    });
    expect(uncleanRefusal(topic, 7, live)).toMatchObject({
      code: 'UNKNOWN_PARTITION',
      message: 'topic orders has 1 partitions, there is no partition 7',
    });
  });
});
