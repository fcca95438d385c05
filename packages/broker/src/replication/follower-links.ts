/**
 * All replication streams that this broker dials: one per leader broker, and a second one for what is far behind there.
 * Invariant: a partition is followed on at most one link. Called by ReplicaManager.
 */
import { partitionKey } from '@tributary/common';
import type { Partition } from '../partition/partition';
import { CatchUpThrottle } from './catch-up-throttle';
import { FollowerLink, type FollowerLinkHost } from './follower-link';
import type { StreamKind } from './stream-kind';

export class FollowerLinks {
  private readonly links = new Map<string, FollowerLink>();
  private readonly linkOf = new Map<string, FollowerLink>();

  readonly throttle: CatchUpThrottle;

  constructor(private readonly host: Omit<FollowerLinkHost, 'move' | 'throttle'>) {
    this.throttle = new CatchUpThrottle(host.clock, host.limits.catchUpBytesPerSecond, false);
  }

  /** As its state says; a partition without a leader is followed nowhere. */
  follow(partition: Partition): void {
    const { state } = partition;
    const key = keyOf(partition);
    const leaderId = state.role === 'follower' ? state.leaderId : -1;
    const before = this.linkOf.get(key);
    if (before && before.leaderId !== leaderId) this.unfollow(key);
    // Where it is already, if with the same leader; on the ordinary stream until the leader moves it.
    if (leaderId >= 0) this.followOn(this.linkOf.get(key)?.kind ?? 'replication', partition);
  }

  /** @param nextEpoch the leader epoch that ends this, where the partition does not know it yet */
  unfollow(key: string, nextEpoch?: number): void {
    const link = this.linkOf.get(key);
    if (!link) return;
    this.linkOf.delete(key);
    link.unfollow(key, nextEpoch);
    if (link.size === 0) this.links.delete(nameOf(link.leaderId, link.kind));
  }

  /** Far behind its leader, and throttled. */
  isCatchingUp(key: string): boolean {
    return this.linkOf.get(key)?.kind === 'catch-up';
  }

  refresh(): void {
    for (const link of this.links.values()) link.refresh();
  }

  redial(): void {
    for (const link of this.links.values()) link.redial();
  }

  close(): void {
    for (const link of this.links.values()) link.close();
    this.links.clear();
    this.linkOf.clear();
    this.throttle.close();
  }

  private followOn(kind: StreamKind, partition: Partition): void {
    const { state } = partition;
    if (state.role !== 'follower') return;
    const name = nameOf(state.leaderId, kind);
    let link = this.links.get(name);
    if (!link) {
      const { throttle } = this;
      const move = (moved: Partition, to: StreamKind): void => this.move(moved, to);
      link = new FollowerLink(state.leaderId, kind, { ...this.host, throttle, move });
      this.links.set(name, link);
    }
    this.linkOf.set(keyOf(partition), link);
    link.follow(partition, state.leaderEpoch);
  }

  /** The one stops before the other begins: two would append the same twice. */
  private move(partition: Partition, to: StreamKind): void {
    this.unfollow(keyOf(partition));
    this.followOn(to, partition);
  }
}

function keyOf({ topicId, partition }: Partition): string {
  return partitionKey(topicId, partition);
}

function nameOf(leaderId: number, kind: StreamKind): string {
  return `${leaderId} ${kind}`;
}
