/**
 * Which partition a record goes to: the one it names; else by its key; else the sticky one, which changes with
 * each batch, so that batches fill up and partitions share the load. Called by the producer.
 */
import { randomInteger, TributaryError, type Random } from '@tributary/common';
import type { TopicView } from '../seams';
import { murmur2 } from './murmur2';

/** Kafka's rule: the sign bit is cleared, not the absolute value taken. */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fff_ffff) % partitions;
}

export class Partitioner {
  /** By topic id. */
  private readonly sticky = new Map<string, number>();

  constructor(private readonly random: Random) {}

  /** Throws UNKNOWN_PARTITION, 'not written'. */
  choose(view: TopicView, key: Uint8Array | null, explicit: number | undefined): number {
    const count = view.partitions.length;
    if (explicit !== undefined) {
      if (Number.isInteger(explicit) && explicit >= 0 && explicit < count) return explicit;
      throw unknownPartition(view, explicit);
    }
    if (count === 0) throw unknownPartition(view, 0);
    if (key) return partitionOfKey(key, count);
    const stuckTo = this.sticky.get(view.topicId);
    if (stuckTo !== undefined && stuckTo < count) return stuckTo;
    return this.stick(view, undefined);
  }

  /** A batch of this partition is complete: keyless records go on elsewhere. */
  batchCompleted(view: TopicView, partition: number): void {
    if (this.sticky.get(view.topicId) === partition) this.stick(view, partition);
  }

  forget(topicId: string): void {
    this.sticky.delete(topicId);
  }

  private stick(view: TopicView, not: number | undefined): number {
    const others = view.partitions.filter(({ partition }) => partition !== not);
    const led = others.filter(({ leader }) => leader !== undefined);
    const candidates = led.length > 0 ? led : others;
    const chosen = candidates[randomInteger(this.random, candidates.length)];
    const partition = chosen?.partition ?? not ?? 0;
    this.sticky.set(view.topicId, partition);
    return partition;
  }
}

function unknownPartition(view: TopicView, partition: number): TributaryError {
  const count = view.partitions.length;
  return new TributaryError(
    'UNKNOWN_PARTITION',
    `topic ${view.topic} has ${count} partitions, there is no partition ${partition}`,
    { details: { topic: view.topic, partition }, outcome: 'not written' },
  );
}
