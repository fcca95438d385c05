/** What a broker says of itself in the hello of its data streams. Called by ReplicaManager. */
import type { Acceptor } from '@tributary/protocol';
import type { DataLimits } from './data-limits';

export function dataAcceptor(
  { brokerId, clusterId }: { readonly brokerId: number; readonly clusterId: () => string },
  { produceCreditBytes, maxInFlightFetches, maxRequestBytes }: DataLimits,
  brokerEpoch: number | undefined,
): Acceptor {
  return {
    brokerId,
    clusterId: clusterId(),
    brokerEpoch: brokerEpoch ?? 0,
    features: [],
    creditBytes: produceCreditBytes,
    maxInFlightRequests: maxInFlightFetches,
    maxRequestBytes,
  };
}
