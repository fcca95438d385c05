/**
 * Tells the partitions of this broker what an image says of them: settings, which followers may join an ISR, and that they
 * are gone. Of very many partitions a delta mostly concerns one, so what is as it was is passed over: each partition is told
 * when its topic, its state, any broker's standing or this broker's settings changed. Called by ReplicaManager with each image.
 */
import type { PartitionState, TopicInfo } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { Partition } from '../partition/partition';
import type { BrokerViews } from '../partition/partition-state';
import type { DataLimits } from './data-limits';
import type { FollowerLinks } from './follower-links';
import {
  brokerViews,
  partitionSettings,
  replicationFactor,
  sameViews,
  topicConfigOf,
} from './image-view';

export interface ImageObserverHost {
  readonly partitions: ReadonlyMap<string, Partition>;
  readonly links: Pick<FollowerLinks, 'unfollow'>;
  readonly limits: DataLimits;
}

interface Told {
  readonly topic: TopicInfo;
  readonly state: PartitionState;
}

export class ImageObserver {
  /** The same object for as long as nothing in it changes. */
  views: BrokerViews = new Map();
  /** What each was told last, of the image as it is but for views and limits. */
  private told = new WeakMap<Partition, Told>();

  constructor(private readonly host: ImageObserverHost) {}

  /** @param isAltered the limits are other ones than at the last call */
  observe(image: MetadataImage, isAltered: boolean): void {
    const views = brokerViews(image);
    const isSame = sameViews(views, this.views);
    if (!isSame) this.views = views;
    if (isAltered || !isSame) this.told = new WeakMap();
    for (const [key, partition] of this.host.partitions) this.tell(key, partition, image);
  }

  private tell(key: string, partition: Partition, image: MetadataImage): void {
    const topic = image.topicById(partition.topicId);
    const state = image.partition(partition.topicId, partition.partition);
    if (!topic || !state) {
      this.told.delete(partition);
      this.host.links.unfollow(key);
      const reason = 'stray: the controller does not know this replica';
      // In any role: it may be about to become leader.
      partition.dispatch({ kind: 'resign', reason });
      return;
    }
    const before = this.told.get(partition);
    if (before?.topic === topic && before.state === state) return;
    this.told.set(partition, { topic, state });
    partition.configure(topicConfigOf(topic, replicationFactor(state)));
    const settings = partitionSettings(partition.config, state, this.host.limits);
    partition.dispatch({ kind: 'cluster', brokers: this.views, settings });
  }
}
