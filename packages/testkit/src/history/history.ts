/**
 * What a run did and saw of one topic: every write with its fate, what readers saw while it ran, what the log was said
 * to hold, and what lay in it at the end. Filled by workloads, judged by `checkHistory` and its kin. Times are
 * monotonic milliseconds of one clock.
 */
export interface WriteAttempt {
  readonly partition: number;
  /** Unique in the run; rises in the order of sending within a partition. */
  readonly id: number;
  readonly sentAt: number;
  /** Where the workload writes to a compacted topic. */
  readonly key?: string;
  result: WriteResult;
}

export type WriteResult =
  | { readonly fate: 'pending' }
  | { readonly fate: 'acknowledged'; readonly offset: number; readonly at: number }
  | { readonly fate: 'not written'; readonly at: number; readonly code: string }
  | { readonly fate: 'unknown'; readonly at: number; readonly code: string };

export interface ReadRecord {
  readonly partition: number;
  readonly offset: number;
  readonly id: number;
  readonly key?: string;
  /** The record's own, in ms since the epoch. */
  readonly timestamp?: number;
}

/** What a reader got while faults went on. */
export interface LiveRead extends ReadRecord {
  readonly at?: number;
  /** Who read it, and in which assignment: of one such, offsets have no gap. Absent: it is not judged by that. */
  readonly reader?: string;
}

/** An answer to "where does this partition end?": the high watermark. */
export interface EndProbe {
  readonly partition: number;
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly end: number;
}

/** A partition got another leader, or the same one in a new epoch. */
export interface LeaderChange {
  readonly partition: number;
  readonly at: number;
}

export class History {
  readonly writes: WriteAttempt[] = [];
  /** Seen by readers while faults went on. */
  readonly liveReads: LiveRead[] = [];
  readonly endProbes: EndProbe[] = [];
  /** Everything, per partition in order of offset, after the last fault was healed. */
  readonly finalReads: ReadRecord[] = [];

  write(partition: number, id: number, sentAt: number, key?: string): WriteAttempt {
    const attempt: WriteAttempt = {
      ...{ partition, id, sentAt },
      ...(key === undefined ? {} : { key }),
      result: { fate: 'pending' },
    };
    this.writes.push(attempt);
    return attempt;
  }
}
