/**
 * The fingerprint of a run: everything that happened, in order, as one hash. Two runs of one seed must have the same;
 * where they differ, something bypassed a port. `keep` remembers the last lines, to find where two runs part.
 */
import { createHash } from 'node:crypto';
import type { NetworkArrival } from './simulated-pipe';

export class EventTrace {
  private readonly hash = createHash('sha1');
  readonly lines: string[] = [];
  private count = 0;

  /** @param keep how many of the last lines are remembered; default none. */
  constructor(
    private readonly keep = 0,
    private readonly onLine?: (line: string) => void,
  ) {}

  get events(): number {
    return this.count;
  }

  /** Of everything so far. */
  get digest(): string {
    return this.hash.copy().digest('hex');
  }

  note(atMs: number, what: string, bytes?: Buffer): void {
    const line = `${atMs} ${what} ${bytes?.length ?? ''}`;
    this.count += 1;
    this.hash.update(line);
    if (bytes) this.hash.update(bytes);
    this.onLine?.(line);
    if (this.keep === 0) return;
    this.lines.push(bytes ? `${line} ${bytes.subarray(0, 64).toString('hex')}` : line);
    if (this.lines.length > this.keep) this.lines.shift();
  }

  arrival(atMs: number, { from, to, what, bytes }: NetworkArrival): void {
    this.note(atMs, `${from}>${to} ${what}`, bytes);
  }
}
