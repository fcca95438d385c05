import { clusterProgress } from './cluster-wait';

const well = {
  ...{ clusterId: 'c', controllerId: 1, controllerEpoch: 3, brokers: [], topics: 2, partitions: 6 },
  ...{ offlinePartitions: 0, underReplicatedPartitions: 0, underMinIsrPartitions: 0 },
  offlineReplicas: 0,
};

test('a cluster is well when it has a controller and every replica is in sync', () => {
  expect(clusterProgress(well)).toEqual({ done: true, lines: ['all 6 partitions are in sync'] });
  expect(clusterProgress({ ...well, offlinePartitions: 1, underReplicatedPartitions: 2 })).toEqual({
    done: false,
    lines: ['6 partitions: 1 offline, 2 under-replicated'],
  });
  expect(clusterProgress({ ...well, underReplicatedPartitions: 1 }).done).toBe(false);
  expect(clusterProgress({ ...well, controllerId: undefined }).done).toBe(false);
});
