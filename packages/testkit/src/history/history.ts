/**
 * What a run did and saw: every write with its fate, every live read, and what lay in the log at the end.
 * Filled by workloads, judged by `checkHistory`. Times are monotonic milliseconds of one clock.
 */
export interface WriteAttempt {
  readonly partition: number;
  /** Unique in the run; rises in the order of sending within a partition. */
  readonly id: number;
  readonly sentAt: number;
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
}

export class History {
  readonly writes: WriteAttempt[] = [];
  /** Seen by readers while faults went on. */
  readonly liveReads: ReadRecord[] = [];
  /** Everything, per partition in order of offset, after the last fault was healed. */
  readonly finalReads: ReadRecord[] = [];

  write(partition: number, id: number, sentAt: number): WriteAttempt {
    const attempt: WriteAttempt = { partition, id, sentAt, result: { fate: 'pending' } };
    this.writes.push(attempt);
    return attempt;
  }
}
