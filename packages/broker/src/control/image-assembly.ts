/**
 * Puts the chunks of one image together. Invariant: chunks come as 0, 1, 2 ... of one sequence; anything else
 * is refused, and the stream with it, so that the controller begins anew. Called by the control session.
 */
import { TributaryError } from '@tributary/common';
import type { BrokerInfo, ImageChunk, PartitionState, TopicInfo } from '@tributary/protocol';
import { ClusterImage } from '../metadata/cluster-image';

/** Brokers, topics and partitions of one image together. */
export const maxImageEntries = 2_000_000;

export class ImageAssembly {
  private sequence: number | undefined;
  private nextChunk = 0;
  private entries = 0;
  private readonly brokers: BrokerInfo[] = [];
  private readonly topics: TopicInfo[] = [];
  private readonly partitions: PartitionState[] = [];

  constructor(private readonly controllerEpoch: number) {}

  /** The image, once its last chunk has come. */
  add(chunk: ImageChunk): ClusterImage | undefined {
    this.sequence ??= chunk.sequence;
    if (chunk.chunk !== this.nextChunk || chunk.sequence !== this.sequence) {
      throw new TributaryError(
        'INVALID_ARGUMENT',
        `chunk ${chunk.chunk} of image ${chunk.sequence} instead of ${this.nextChunk} of ${this.sequence}`,
      );
    }
    this.nextChunk += 1;
    this.entries += chunk.brokers.length + chunk.topics.length + chunk.partitions.length;
    if (this.entries > maxImageEntries) {
      throw new TributaryError('OVERLOADED', `an image of more than ${maxImageEntries} entries`);
    }
    this.brokers.push(...chunk.brokers);
    this.topics.push(...chunk.topics);
    this.partitions.push(...chunk.partitions);
    if (!chunk.last) return undefined;
    return ClusterImage.from({
      controllerId: chunk.controllerId,
      controllerEpoch: this.controllerEpoch,
      sequence: chunk.sequence,
      brokers: this.brokers,
      topics: this.topics,
      partitions: this.partitions,
    });
  }
}
