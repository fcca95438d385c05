/**
 * What the streams to leaders need to know of this broker: where a leader listens, how to say hello, and attach ids that
 * are never used twice. Called by ReplicaManager.
 */
import { clientHello } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { FollowerLinkHost } from './follower-link';
import { endpointOf } from './image-view';

export interface LinkPolicyOptions {
  readonly brokerId: number;
  readonly interBrokerListener: string;
  readonly clusterId: () => string;
  readonly image: () => MetadataImage | undefined;
  /** undefined: not registered now. */
  readonly brokerEpoch: () => number | undefined;
}

export function linkPolicy(
  options: LinkPolicyOptions,
): Pick<FollowerLinkHost, 'target' | 'hello' | 'nextAttachId'> {
  let lastAttachId = 0;
  return {
    target(leaderId) {
      const broker = options.image()?.broker(leaderId);
      const address = endpointOf(broker, options.interBrokerListener);
      return broker && address && { address, brokerEpoch: broker.brokerEpoch };
    },
    hello(leaderId) {
      const { brokerId } = options;
      const brokerEpoch = options.brokerEpoch();
      if (brokerEpoch === undefined) return undefined;
      return clientHello({
        clientId: `broker-${brokerId}`,
        clusterId: options.clusterId(),
        brokerId: leaderId,
        brokerEpoch,
        senderBrokerId: brokerId,
      });
    },
    nextAttachId() {
      lastAttachId += 1;
      return lastAttachId;
    },
  };
}
