/**
 * Replicas that should lie in the log directories of this broker and cannot be served, and why. Invariant: none of them
 * is made anew before it was given up. Called by LogDirectories.
 */
import { partitionKey, partitionName, TributaryError } from '@tributary/common';
import type { LogDirectory } from './log-directory';
import type { OpenedDirectories } from './log-directories-opening';
import type { LostReplica, ReplicaId } from './log-store';
import type { Placement } from './placement-record';

export class LostReplicas {
  constructor(
    private readonly opened: OpenedDirectories,
    private readonly isServed: (key: string) => boolean,
  ) {}

  all(): LostReplica[] {
    const placed = this.opened.book
      .all()
      .filter(({ topicId, partition }) => !this.isServed(partitionKey(topicId, partition)));
    const lost = new Map(placed.map((placement) => [nameOf(placement), this.explain(placement)]));
    for (const directory of this.opened.open) {
      for (const one of directory.lost()) {
        // Where it cannot be told whose it is, the record may know.
        const isKnown = one.topicId === undefined && placed.some((it) => isSameName(it, one));
        if (!isKnown && !lost.has(nameOf(one))) lost.set(nameOf(one), one);
      }
    }
    return [...lost.values()];
  }

  /** Throws STORAGE_ERROR when it is one of them. */
  refuse(replica: ReplicaId): void {
    const { topic, topicId, partition } = replica;
    const placement = this.opened.book.get(topicId, partition);
    const lost = placement ? this.explain(placement) : this.brokenOne(replica);
    if (!lost) return;
    throw new TributaryError(
      'STORAGE_ERROR',
      `${partitionName(topic, partition)} is offline on this broker: ${lost.reason}`,
    );
  }

  /** Where what is left of it can be reached. */
  directoryOf(replica: ReplicaId): LogDirectory | undefined {
    const placement = this.opened.book.get(replica.topicId, replica.partition);
    const { open } = this.opened;
    return (
      open.find(({ id }) => id === placement?.directoryId) ??
      open.find((directory) => brokenIn(directory, replica))
    );
  }

  private brokenOne(replica: ReplicaId): LostReplica | undefined {
    for (const directory of this.opened.open) {
      const broken = brokenIn(directory, replica);
      if (broken) return broken;
    }
    return undefined;
  }

  private explain(placement: Placement): LostReplica {
    const { topic, topicId, partition, directoryId } = placement;
    const directory = this.opened.open.find(({ id }) => id === directoryId);
    const broken = directory && brokenIn(directory, placement);
    if (broken) return { ...broken, topicId };
    const named = { topic, topicId, partition };
    if (directory?.failure) return { ...named, reason: directory.failure.message, damaged: false };
    const path = this.opened.book.pathOf(directoryId);
    const failure = directory ? undefined : this.opened.failed.get(path);
    if (failure) {
      const reason = `log directory ${path} is offline: ${failure.message}`;
      return { ...named, reason, damaged: false };
    }
    const reason = directory
      ? `${directory.directory}/${partitionName(topic, partition)} is missing`
      : `log directory ${path} (${directoryId}) is gone: its disk was replaced, or it is not configured any more`;
    return { ...named, reason, damaged: true };
  }
}

function brokenIn(directory: LogDirectory, replica: ReplicaId): LostReplica | undefined {
  const { topic, topicId, partition } = replica;
  return directory
    .lost()
    .find(
      (one) =>
        one.topic === topic && one.partition === partition && (one.topicId ?? topicId) === topicId,
    );
}

function isSameName(a: { topic: string; partition: number }, b: typeof a): boolean {
  return a.topic === b.topic && a.partition === b.partition;
}

function nameOf({ topic, topicId, partition }: Omit<LostReplica, 'reason' | 'damaged'>): string {
  return `${topicId ?? ''}/${partitionName(topic, partition)}`;
}
