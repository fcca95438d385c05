/**
 * Admin.DescribeBrokers: each broker with its duty, its settings and what it leads and holds, from this broker's image;
 * of those that are not registered, what is stored for them or what they should hold. Called through `adminHandlers`.
 */
import { Deadline, type Clock, type Logger } from '@tributary/common';
import { allBrokers, type BrokerSettings, type BrokerSettingsStore } from '@tributary/coordination';
import type {
  BrokerDescriptionInput,
  CallContext,
  DescribeBrokersRequest,
  DescribeBrokersResponseInput,
} from '@tributary/protocol';
import type { MetadataCache } from '../metadata/metadata-cache';
import type { MetadataImage } from '../metadata/metadata-image';
import { dutyOf } from './admin-alter-broker';
import { endpointOn, listenerFor } from './listener-endpoints';

/** What is stored for brokers that are not registered is left out when the coordinator does not answer in this time. */
const STORED_SETTINGS_MS = 2_000;

export interface DescribeBrokersOptions {
  readonly metadata: MetadataCache;
  readonly settings: Pick<BrokerSettingsStore, 'readAll'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Counts = Required<
  Pick<
    BrokerDescriptionInput,
    'leaders' | 'replicas' | 'outOfSyncReplicas' | 'addingReplicas' | 'removingReplicas'
  >
>;

export async function describeBrokers(
  options: DescribeBrokersOptions,
  request: DescribeBrokersRequest,
  context: CallContext,
): Promise<DescribeBrokersResponseInput> {
  const listener = listenerFor(request.listener, context, options.metadata.require());
  const stored = await storedSettings(options, context);
  const image = options.metadata.require();
  const counts = countReplicas(image);
  const registered = image.brokers().map(({ brokerId, ...broker }): BrokerDescriptionInput => {
    const { host = '', port = 0 } = endpointOn(image, brokerId, listener) ?? {};
    const { brokerEpoch, rack, eligible, configs } = broker;
    return {
      ...{ brokerId, registered: true, brokerEpoch, host, port, rack, eligible, configs },
      ownConfigNames: ownConfigNames(stored, brokerId),
      controller: image.controllerId === brokerId,
      duty: dutyOf(broker),
      ...countsOf(counts, brokerId),
    };
  });
  const absent = new Set([...stored.keys(), ...counts.keys()]);
  absent.delete(allBrokers);
  for (const { brokerId } of image.brokers()) absent.delete(brokerId);
  const isOfInterest = (brokerId: number): boolean => {
    const { duty = 'in service', configs: own = {} } = stored.get(brokerId) ?? {};
    const hasReplicas = countsOf(counts, brokerId).replicas > 0;
    // One that is gone for good and holds nothing leaves an empty entry behind. What is set for all is not its own.
    return duty !== 'in service' || Object.keys(own).length > 0 || hasReplicas;
  };
  const others = [...absent].filter(isOfInterest).map((brokerId): BrokerDescriptionInput => {
    const own = stored.get(brokerId);
    const configs = { ...stored.get(allBrokers)?.configs, ...own?.configs };
    const duty = own ? wireDuties[own.duty] : 'BROKER_DUTY_IN_SERVICE';
    const names = ownConfigNames(stored, brokerId);
    const replicas = countsOf(counts, brokerId);
    return { brokerId, registered: false, duty, configs, ownConfigNames: names, ...replicas };
  });
  const brokers = [...registered, ...others];
  return { brokers: brokers.sort((a, b) => Number(a.brokerId) - Number(b.brokerId)) };
}

function ownConfigNames(stored: ReadonlyMap<number, BrokerSettings>, brokerId: number): string[] {
  return Object.keys(stored.get(brokerId)?.configs ?? {});
}

const wireDuties = {
  'in service': 'BROKER_DUTY_IN_SERVICE',
  drained: 'BROKER_DUTY_DRAINED',
  decommissioned: 'BROKER_DUTY_DECOMMISSIONED',
} as const;

async function storedSettings(
  { settings, clock, logger }: DescribeBrokersOptions,
  { signal }: CallContext,
): Promise<Map<number, BrokerSettings>> {
  try {
    const deadline = Deadline.after(clock, STORED_SETTINGS_MS, signal);
    const read = await deadline.race(settings.readAll(), 'reading the settings of brokers');
    return new Map(read.map((one) => [one.brokerId, one]));
  } catch (error) {
    logger.debug('brokers are described without those that are not registered', { error });
    return new Map();
  }
}

function countReplicas(image: MetadataImage): Map<number, Counts> {
  const counts = new Map<number, Counts>();
  const of = (brokerId: number): Counts => {
    const found = counts.get(brokerId) ?? { ...none };
    counts.set(brokerId, found);
    return found;
  };
  for (const { topicId } of image.topics()) {
    for (const state of image.partitions(topicId)) {
      if (state.leader >= 0) of(state.leader).leaders += 1;
      for (const id of state.replicas) {
        of(id).replicas += 1;
        if (!state.isr.includes(id)) of(id).outOfSyncReplicas += 1;
      }
      for (const id of state.addingReplicas) of(id).addingReplicas += 1;
      for (const id of state.removingReplicas) of(id).removingReplicas += 1;
    }
  }
  return counts;
}

const none: Counts = {
  leaders: 0,
  replicas: 0,
  outOfSyncReplicas: 0,
  addingReplicas: 0,
  removingReplicas: 0,
};

function countsOf(counts: ReadonlyMap<number, Counts>, brokerId: number): Counts {
  return counts.get(brokerId) ?? none;
}
