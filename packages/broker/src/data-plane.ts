/**
 * What the Broker wants of its data plane (partitions, replication, produce, fetch): made by a factory, so
 * that tests of the control plane run without logs. The real one stands in `replication/`.
 */
import type { Clock, Logger, Random } from '@tributary/common';
import type { LogStore } from '@tributary/log';
import type { Handler, Transport } from '@tributary/protocol';
import type { MetadataCache } from './metadata/metadata-cache';
import type { OutageKind } from './replication/offline-replicas';
import type { PartitionAlterer, ReplicaHost } from './seams';

export interface DataPlaneContext {
  readonly brokerId: number;
  readonly clusterId: string;
  /** Endpoints of the other brokers on this listener are what followers dial. */
  readonly interBrokerListener: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transport: Transport;
  readonly logStore: LogStore | undefined;
  readonly metadata: MetadataCache;
  readonly alterer: PartitionAlterer;
}

export interface DataPlane {
  readonly host: ReplicaHost;
  /** Produce, fetch, list offsets, follow. */
  readonly handlers: readonly Handler[];
  /** Partitions for status and metrics. */
  readonly status: () => readonly PartitionStatus[];
  /** Ends streams and waiters, flushes and closes the logs, writes the clean marker last. */
  close(options: { readonly clean: boolean; readonly brokerEpoch: number }): Promise<void>;
  /** As a crash: timers and streams end, nothing is flushed. */
  kill(): void;
}

export type DataPlaneFactory = (context: DataPlaneContext) => DataPlane;

export interface PartitionStatus {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly role: string;
  readonly leaderEpoch: number;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly highWatermark: number;
  /** Why it cannot serve: its disk failed, it is damaged, it is being refilled. undefined: it can. */
  readonly outage?: OutageKind | undefined;
}
