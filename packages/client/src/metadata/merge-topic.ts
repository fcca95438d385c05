/**
 * What a fresh look at a topic changes in the cache. Pure. Invariant: for one topic id the leader epoch of a
 * partition never goes down, whoever says so; another topic id is another topic and replaces the whole view,
 * unless that id was replaced before (then a stale source speaks). Called by ClusterMetadataCache.
 */
import type { LeaderHint } from '@tributary/common';
import type { BrokerNode, PartitionView, TopicView } from '../seams';

/** How many replaced topic ids are remembered per topic name. */
export const MAX_RETIRED_IDS = 16;

export interface CachedTopic {
  readonly view: TopicView;
  /** The last look did not find it. Kept for its epochs, hidden from callers. */
  readonly absent: boolean;
  /** Ids that this name had before, newest last. */
  readonly retiredIds: readonly string[];
  /** Partitions whose leader failed since the last look. */
  readonly suspects: ReadonlySet<number>;
}

/** @param fresh undefined: the topic does not exist. */
export function mergeTopic(
  cached: CachedTopic | undefined,
  fresh: TopicView | undefined,
): CachedTopic | undefined {
  if (!fresh) return cached && { ...cached, absent: true };
  if (!cached) return present(fresh, []);
  if (fresh.topicId !== cached.view.topicId) {
    if (cached.retiredIds.includes(fresh.topicId)) return cached;
    const retiredIds = [...cached.retiredIds, cached.view.topicId].slice(-MAX_RETIRED_IDS);
    return present(fresh, retiredIds);
  }
  const known = cached.view.partitions;
  const partitions = fresh.partitions.map((now, index) => newer(known[index], now));
  const merged = { ...fresh, partitions: [...partitions, ...known.slice(partitions.length)] };
  return present(merged, cached.retiredIds);
}

function present(view: TopicView, retiredIds: readonly string[]): CachedTopic {
  return { view, absent: false, retiredIds, suspects: new Set() };
}

function newer(known: PartitionView | undefined, now: PartitionView): PartitionView {
  return known && known.leaderEpoch > now.leaderEpoch ? known : now;
}

/**
 * A broker refused a request or vanished. With a hint of a higher epoch its leader is taken at once;
 * otherwise the partition is suspect until the next look. A report about an older epoch than the cached one
 * changes nothing.
 */
export function mergeFailure(
  cached: CachedTopic,
  failed: { readonly partition: number; readonly leaderEpoch: number },
  hint: LeaderHint | undefined,
  nodeOf: (hint: LeaderHint) => BrokerNode | undefined,
): CachedTopic {
  const known = cached.view.partitions[failed.partition];
  if (!known || known.leaderEpoch > failed.leaderEpoch) return cached;
  const leader = hint && hint.leaderEpoch > known.leaderEpoch ? nodeOf(hint) : undefined;
  if (!hint || !leader) {
    return { ...cached, suspects: new Set(cached.suspects).add(failed.partition) };
  }
  const partitions = [...cached.view.partitions];
  partitions[failed.partition] = { ...known, leader, leaderEpoch: hint.leaderEpoch };
  const suspects = new Set(cached.suspects);
  suspects.delete(failed.partition);
  return { ...cached, view: { ...cached.view, partitions }, suspects };
}
