/**
 * When was this follower last caught up? Each push and keepalive carries a mark: the leader's log end offset at
 * its send time. A follower that has seen the mark and whose own end has reached it was caught up as of that
 * send time, and no later (KAFKA-4485: merely fetching, or reaching an end that has moved on since, is not
 * enough). One per attach; called by the leader's side of a replication stream.
 *
 * Invariant: marks are in sending order, so their ids, times and offsets never decrease.
 */
export class CaughtUpMarks {
  private marks: { readonly id: number; readonly sentAt: number; readonly offset: number }[] = [];
  private nextId = 1;

  constructor(readonly maxMarks = 64) {}

  get outstanding(): number {
    return this.marks.length;
  }

  /** The id to send along. */
  sent(now: number, leaderLogEndOffset: number): number {
    // A follower far behind: every second mark is enough to tell its time.
    if (this.marks.length >= this.maxMarks) this.marks = this.marks.filter((_, at) => at % 2 === 0);
    const id = this.nextId;
    this.nextId += 1;
    this.marks.push({ id, sentAt: now, offset: leaderLogEndOffset });
    return id;
  }

  /** Send time of the newest mark reached by this acknowledgement; undefined: no new one. */
  reached(markId: number, logEndOffset: number): number | undefined {
    let count = 0;
    for (const mark of this.marks) {
      if (mark.id > markId || mark.offset > logEndOffset) break;
      count += 1;
    }
    if (count === 0) return undefined;
    const newest = this.marks[count - 1];
    this.marks = this.marks.slice(count);
    return newest?.sentAt;
  }
}
