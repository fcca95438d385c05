/**
 * What a follower owes its leader on one attach: its log end as far as it counts, the newest mark, and the credit of
 * the pushes that are done with. Invariant: what is acknowledged never goes back, and is at least the log end of the
 * attach; credit is returned once per push, when all of it is acknowledged. So with `flush=sync` a slow disk
 * stops its partition's credit, and nothing else. Called by `FollowedPartition`.
 */
export interface OwedAcknowledgement {
  readonly logEndOffset: number;
  readonly markId: number;
  readonly creditBytes: number;
}

export class OwedAcknowledgements {
  private acknowledged: number;
  private newestMark = 0;
  private markIsOwed = false;
  /** Not acknowledged yet; the leader's credit bounds them. */
  private pushes: { readonly end: number; readonly bytes: number }[] = [];

  /** @param logEndOffset as named by the attach. */
  constructor(logEndOffset: number) {
    this.acknowledged = logEndOffset;
  }

  /** @param end of the log, after these bytes. */
  pushed(end: number, bytes: number, markId: number): void {
    this.newestMark = markId;
    this.pushes.push({ end, bytes });
  }

  marked(markId: number): void {
    this.newestMark = markId;
    this.markIsOwed = true;
  }

  /** What to send now that everything below `end` counts; undefined: nothing. */
  take(end: number): OwedAcknowledgement | undefined {
    if (end < this.acknowledged) return undefined;
    const done = this.pushes.findIndex((push) => push.end > end);
    const returned = this.pushes.splice(0, done < 0 ? this.pushes.length : done);
    if (returned.length === 0 && !this.markIsOwed && end === this.acknowledged) return undefined;
    this.acknowledged = end;
    this.markIsOwed = false;
    const creditBytes = returned.reduce((sum, { bytes }) => sum + bytes, 0);
    return { logEndOffset: end, markId: this.newestMark, creditBytes };
  }
}
