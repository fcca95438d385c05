/**
 * Bytes per second of the last few seconds, for people. Two windows, the one that fills and the one before it: nothing is
 * kept of each note. Invariant: what is older than two windows does not count. Called by LeaderAttach.
 */
const WINDOW_MS = 2_000;

export class RecentRate {
  private bytes = 0;
  private before = 0;
  /** How long the window before was; 0: there was none. */
  private beforeMs = 0;

  constructor(private since: number) {}

  note(bytes: number, now: number): void {
    this.roll(now);
    this.bytes += bytes;
  }

  perSecond(now: number): number {
    this.roll(now);
    // What came in a moment is no rate of a second yet.
    const ms = Math.max(WINDOW_MS / 2, this.beforeMs + (now - this.since));
    return Math.round(((this.before + this.bytes) * 1000) / ms);
  }

  private roll(now: number): void {
    const windows = Math.floor((now - this.since) / WINDOW_MS);
    if (windows <= 0) return;
    this.before = windows === 1 ? this.bytes : 0;
    this.beforeMs = WINDOW_MS;
    this.bytes = 0;
    this.since += windows * WINDOW_MS;
  }
}
