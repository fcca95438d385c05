/** Admin.DescribeCluster: brokers and the counts that tell whether all is well, from this broker's image alone. */
import { parseTopicConfig } from '@tributary/common';
import type {
  CallContext,
  DescribeClusterRequest,
  DescribeClusterResponseInput,
  PartitionState,
  TopicInfo,
} from '@tributary/protocol';
import type { MetadataCache } from '../metadata/metadata-cache';
import { endpointOn, listenerFor } from './listener-endpoints';

export interface DescribeClusterOptions {
  readonly metadata: MetadataCache;
  readonly clusterId: string;
}

export function describeCluster(
  options: DescribeClusterOptions,
  request: DescribeClusterRequest,
  context: CallContext,
): DescribeClusterResponseInput {
  const image = options.metadata.require();
  const listener = listenerFor(request.listener, context, image);
  const leaders = new Map<number, number>();
  const replicas = new Map<number, number>();
  const counts = { partitions: 0, offline: 0, underReplicated: 0, underMinIsr: 0, outages: 0 };
  for (const topic of image.topics()) {
    for (const state of image.partitions(topic.topicId)) {
      counts.partitions += 1;
      if (state.leader < 0) counts.offline += 1;
      else leaders.set(state.leader, (leaders.get(state.leader) ?? 0) + 1);
      if (state.isr.length < state.replicas.length) counts.underReplicated += 1;
      counts.outages += state.offlineReplicas.length;
      if (isUnderMinIsr(topic, state)) counts.underMinIsr += 1;
      for (const id of state.replicas) replicas.set(id, (replicas.get(id) ?? 0) + 1);
    }
  }
  return {
    clusterId: options.clusterId,
    controllerId: image.controllerId,
    controllerEpoch: image.controllerEpoch,
    topics: image.topics().length,
    partitions: counts.partitions,
    offlinePartitions: counts.offline,
    underReplicatedPartitions: counts.underReplicated,
    underMinIsrPartitions: counts.underMinIsr,
    offlineReplicas: counts.outages,
    brokers: image.brokers().map(({ brokerId, brokerEpoch, rack, eligible }) => {
      const { host = '', port = 0 } = endpointOn(image, brokerId, listener) ?? {};
      const led = leaders.get(brokerId) ?? 0;
      const held = replicas.get(brokerId) ?? 0;
      return { brokerId, brokerEpoch, rack, eligible, host, port, leaders: led, replicas: held };
    }),
  };
}

function isUnderMinIsr(topic: TopicInfo, state: PartitionState): boolean {
  try {
    const { minInsyncReplicas } = parseTopicConfig(topic.configs, state.replicas.length);
    return state.isr.length < minInsyncReplicas;
  } catch {
    // Settings of a newer version are not counted.
    return false;
  }
}
