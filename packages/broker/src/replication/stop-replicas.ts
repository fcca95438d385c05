/**
 * StopReplica: the only way by which data is deleted. Each request is fenced by topic id, leader epoch and the
 * broker epoch of the addressed life of this broker (KIP-380, KIP-570). Called by ReplicaManager.
 */
import { partitionKey, TributaryError } from '@tributary/common';
import type { LogStore } from '@tributary/log';
import { toWireError, type StopReplica, type StopResult } from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import type { FollowerLinks } from './follower-links';
import type { RoleChanges } from './role-changes';

export interface StopReplicasHost {
  readonly logStore: LogStore;
  readonly links: FollowerLinks;
  readonly changes: RoleChanges;
  readonly partitions: Map<string, Partition>;
  readonly brokerEpoch: () => number | undefined;
  /** The file of HWs goes by names: what this topic left there must not be taken for the next one's. */
  readonly checkpoint: () => Promise<void>;
}

/** Never rejects: each refusal is in its result. The HWs are written once for all of them, before anything is confirmed. */
export async function stopReplicas(
  host: StopReplicasHost,
  requests: readonly StopReplica[],
): Promise<StopResult[]> {
  const results = await Promise.all(requests.map((request) => stopReplica(host, request)));
  if (!results.some(({ dataDeleted }) => dataDeleted)) return results;
  try {
    await host.checkpoint();
    return results;
  } catch (thrown) {
    const error = toWireError(thrown) as StopResult['error'];
    return results.map((each) =>
      each.dataDeleted ? { ...each, dataDeleted: false, error } : each,
    );
  }
}

async function stopReplica(host: StopReplicasHost, request: StopReplica): Promise<StopResult> {
  const { topicId, partition } = request;
  const key = partitionKey(topicId, partition);
  try {
    const dataDeleted = await host.changes.inOrder(key, () => stop(host, key, request));
    return { topicId, partition, dataDeleted, error: null };
  } catch (error) {
    // The sender's form and the receiver's differ only in what may be left out; this leaves out nothing.
    const wire = toWireError(error) as StopResult['error'];
    return { topicId, partition, dataDeleted: false, error: wire };
  }
}

async function stop(host: StopReplicasHost, key: string, request: StopReplica): Promise<boolean> {
  const { topic, topicId, partition: number, leaderEpoch, brokerEpoch, deleteData } = request;
  const own = host.brokerEpoch();
  if (brokerEpoch !== own) {
    const message = `the request is for broker epoch ${brokerEpoch}, this is ${own ?? 'not registered'}`;
    throw new TributaryError('FENCED_BROKER_EPOCH', message);
  }
  const partition = host.partitions.get(key);
  if (partition && leaderEpoch < partition.state.leaderEpoch) {
    const message = `leader epoch ${leaderEpoch} of ${topic}-${number} is over, ${partition.state.leaderEpoch} is now`;
    throw new TributaryError('FENCED_LEADER_EPOCH', message);
  }
  host.links.unfollow(key);
  host.changes.forget(key);
  const reason = 'the controller stopped this replica';
  partition?.dispatch({ kind: 'resign', reason, shownEpoch: leaderEpoch });
  if (!deleteData) return false;
  host.partitions.delete(key);
  await host.logStore.delete(topicId, number);
  // Nothing there any more counts as deleted: the controller may ask twice.
  return true;
}
