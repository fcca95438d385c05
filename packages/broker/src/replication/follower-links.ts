/**
 * All replication streams that this broker dials: one per leader broker. Invariant: a partition is followed on at
 * most one link. Called by ReplicaManager.
 */
import { partitionKey } from '@tributary/common';
import type { Partition } from '../partition/partition';
import { FollowerLink, type FollowerLinkHost } from './follower-link';

export class FollowerLinks {
  private readonly links = new Map<number, FollowerLink>();
  private readonly leaderOf = new Map<string, number>();

  constructor(private readonly host: FollowerLinkHost) {}

  /** As its state says; a partition without a leader is followed nowhere. */
  follow(partition: Partition): void {
    const key = partitionKey(partition.topicId, partition.partition);
    const { state } = partition;
    const leaderId = state.role === 'follower' ? state.leaderId : -1;
    if (this.leaderOf.get(key) !== leaderId) this.unfollow(key);
    if (leaderId < 0) return;
    let link = this.links.get(leaderId);
    if (!link) {
      link = new FollowerLink(leaderId, this.host);
      this.links.set(leaderId, link);
    }
    this.leaderOf.set(key, leaderId);
    link.follow(partition, state.leaderEpoch);
  }

  unfollow(key: string): void {
    const leaderId = this.leaderOf.get(key);
    if (leaderId === undefined) return;
    this.leaderOf.delete(key);
    const link = this.links.get(leaderId);
    link?.unfollow(key);
    if (link?.size === 0) this.links.delete(leaderId);
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
    this.leaderOf.clear();
  }
}
