/**
 * The syncs of files that are not pooled: indexes, seals, snapshots, epoch files, directories. Each has its file open as long
 * as the device takes. Invariant: at most so many at the same time in a log directory, the others wait in line; else
 * many logs that roll in one moment, or one with many segments, would take the last descriptor of the process, and what is
 * opened next would fail as if the disk had. Nothing that runs in a slot asks for another one. Called by the log.
 */

/** With the pooled files still below the usual 1,024 descriptors of a process. */
export const SIDE_SYNCS_MAX = 64;

export class SyncSlots {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly max = SIDE_SYNCS_MAX) {}

  /** At once where there is room. */
  async run<T>(sync: () => Promise<T>): Promise<T> {
    if (this.running < this.max) this.running += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await sync();
    } finally {
      const next = this.waiting.shift();
      // The slot is handed on, so that nobody slips in between.
      if (next) next();
      else this.running -= 1;
    }
  }
}
