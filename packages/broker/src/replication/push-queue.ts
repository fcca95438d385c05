/**
 * Whose turn it is to be pushed, on one stream to a follower: round-robin over the partitions that have something, for as
 * long as the stream takes it. On a catch-up stream each push also waits for its turn at the throttle. Invariants: an
 * attach stands in the queue at most once; what is read from the disk ahead of its turn is bounded. Called by `LeaderStream`.
 */
import type { CatchUpThrottle } from './catch-up-throttle';
import type { LeaderAttach } from './leader-attach';

/** What the queue wants to know of an attach. */
export type Pushable = Pick<
  LeaderAttach,
  'queued' | 'live' | 'hasMore' | 'wantsColdRead' | 'holdsColdRead'
>;

export class PushQueue<One extends Pushable = LeaderAttach> {
  private waiting: One[] = [];
  /** Those whose next push must be read from the disk, while enough others are. */
  private held: One[] = [];
  private readonly cold = new Set<One>();
  private scheduled = false;
  private blocked = false;
  private over = false;

  /** @param push answers the bytes that went. */
  constructor(
    private readonly push: (attach: One) => number,
    private readonly maxColdPushes: number,
    private readonly throttle: CatchUpThrottle | undefined,
  ) {}

  get isBlocked(): boolean {
    return this.blocked;
  }

  add(attach: One): void {
    if (attach.queued || this.over) return;
    attach.queued = true;
    this.waiting.push(attach);
    this.schedule();
  }

  /** What was read for it is there, or will not come. */
  readDone(attach: One): void {
    if (attach.live) this.add(attach);
    else this.settle(attach);
  }

  /** The stream is full, until `drained`. */
  block(): void {
    this.blocked = true;
  }

  drained(): void {
    this.blocked = false;
    if (this.throttle) this.schedule();
    else this.pump();
  }

  close(): void {
    this.over = true;
    this.waiting = [];
    this.held = [];
  }

  private schedule(): void {
    if (this.scheduled || this.blocked || this.waiting.length === 0) return;
    this.scheduled = true;
    if (this.throttle) {
      this.throttle.wait(() => {
        this.scheduled = false;
        return this.pushNext();
      });
      return;
    }
    // At the end of this tick's work: what it appends to one partition goes in one push.
    queueMicrotask(() => {
      this.scheduled = false;
      this.pump();
    });
  }

  private pump(): void {
    while (!this.blocked && this.waiting.length > 0) {
      const round = this.waiting;
      this.waiting = [];
      for (const [at, attach] of round.entries()) {
        if (this.blocked) {
          this.waiting = [...round.slice(at), ...this.waiting];
          return;
        }
        this.pushOne(attach);
      }
    }
  }

  private pushNext(): number {
    let pushed = 0;
    while (pushed === 0 && !this.blocked) {
      const attach = this.waiting.shift();
      if (!attach) return 0;
      pushed = this.pushOne(attach);
    }
    this.schedule();
    return pushed;
  }

  private pushOne(attach: One): number {
    if (attach.wantsColdRead && this.cold.size >= this.maxColdPushes) {
      this.held.push(attach);
      return 0;
    }
    attach.queued = false;
    const pushed = this.push(attach);
    if (attach.holdsColdRead) this.cold.add(attach);
    else this.settle(attach);
    if (attach.hasMore && !attach.queued) {
      attach.queued = true;
      this.waiting.push(attach);
    }
    return pushed;
  }

  /** It reads nothing any more: those that were held for that have their turn. */
  private settle(attach: One): void {
    if (!this.cold.delete(attach) || this.held.length === 0) return;
    this.waiting.push(...this.held);
    this.held = [];
    this.schedule();
  }
}
