import { silentLogger } from '@tributary/common';
import type { VersionedBrokerSettings } from '@tributary/coordination';
import type { PartitionState } from '@tributary/protocol';
import { SimulatedClock } from '@tributary/testkit';
import { DecisionJournal } from '../controller/decision-journal';
import { ClusterImage } from '../metadata/cluster-image';
import { MetadataCache } from '../metadata/metadata-cache';
import { describeBrokers } from './admin-describe-brokers';
import { listDecisions } from './admin-list-decisions';

const context = { listener: 'inside', peer: 'p', signal: new AbortController().signal };

/** Brokers 1 and 2 are registered, 1 is drained; broker 3 should hold a replica; one moves from 1 to 2. */
function world(readAll: () => Promise<VersionedBrokerSettings[]>) {
  const clock = new SimulatedClock();
  const metadata = new MetadataCache();
  const broker = (brokerId: number) => ({
    brokerId,
    brokerEpoch: 100 + brokerId,
    endpoints: [{ listener: 'inside', host: `in-${brokerId}`, port: 9292 }],
    rack: '',
    eligible: true,
    duty: brokerId === 1 ? ('BROKER_DUTY_DRAINED' as const) : ('BROKER_DUTY_UNSPECIFIED' as const),
    configs: { 'some.setting': '5' },
  });
  const partition: PartitionState = {
    ...{ topic: 'orders', topicId: 'id', partition: 0, leader: 2, leaderEpoch: 4 },
    ...{ partitionEpoch: 9, controllerEpoch: 1, isr: [1], replicas: [2, 1, 3] },
    ...{ eligibleLeaders: [], offlineReplicas: [], addingReplicas: [2], removingReplicas: [1] },
  };
  const image = ClusterImage.from({
    ...{ controllerId: 2, controllerEpoch: 1, sequence: 1 },
    brokers: [broker(2), broker(1)],
    topics: [{ topic: 'orders', topicId: 'id', configs: {}, deleting: false }],
    partitions: [partition],
  });
  metadata.replace(image);
  const options = { metadata, clock, logger: silentLogger, settings: { readAll } };
  return { clock, describe: () => describeBrokers(options, { listener: '' }, context) };
}

describe('DescribeBrokers', () => {
  it('tells duty, settings and replicas, also of brokers that are away', async () => {
    const configs: Record<string, string> = {};
    const own: Record<string, string> = { 'own.setting': '7' };
    const ofAll: Record<string, string> = { 'some.setting': '5' };
    const { describe: ask } = world(async () => [
      { brokerId: -1, configs: ofAll, duty: 'in service', version: 1 },
      { brokerId: 2, configs: own, duty: 'in service', version: 1 },
      { brokerId: 4, configs, duty: 'decommissioned', version: 1 },
      // Gone for good: what is set for all brokers keeps nobody in the list.
      { brokerId: 5, configs, duty: 'in service', version: 2 },
    ]);
    const { brokers } = await ask();
    expect(brokers).toMatchObject([
      { brokerId: 1, duty: 'BROKER_DUTY_DRAINED', leaders: 0, replicas: 1, removingReplicas: 1, ownConfigNames: [] }, // prettier-ignore
      { brokerId: 2, controller: true, leaders: 1, outOfSyncReplicas: 1, addingReplicas: 1, ownConfigNames: ['own.setting'] }, // prettier-ignore
      { brokerId: 3, registered: false, duty: 'BROKER_DUTY_IN_SERVICE', outOfSyncReplicas: 1 },
      { brokerId: 4, registered: false, duty: 'BROKER_DUTY_DECOMMISSIONED', replicas: 0 },
    ]);
    expect(brokers).toHaveLength(4);
    expect(brokers?.[0]).toMatchObject({ host: 'in-1', configs: { 'some.setting': '5' } });
  });

  it('waits only so long for what is stored', async () => {
    const { clock, describe: ask } = world(() => new Promise(() => undefined));
    const { brokers } = await clock.settleWithin(ask(), 5_000);
    expect(brokers?.map(({ brokerId }) => brokerId)).toEqual([1, 2, 3]);
  });
});

describe('ListDecisions', () => {
  it('answers the newest, oldest first', () => {
    const journal = new DecisionJournal();
    for (const at of [1, 2, 3]) {
      journal.add({ at, controllerEpoch: 1, who: 'broker 1', what: `w${at}`, why: 'y' });
    }
    const ask = (maxEntries: number) => listDecisions({ brokerId: 5, journal }, { maxEntries });
    expect(ask(2)).toMatchObject({ brokerId: 5, decisions: [{ atMs: 2 }, { atMs: 3 }] });
    expect(ask(0).decisions).toHaveLength(3);
  });
});
