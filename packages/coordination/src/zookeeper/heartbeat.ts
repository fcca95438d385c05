/**
 * When to send a heartbeat, and when to give a connection up; pure, driven by ClientSession's ticks. The library itself
 * never notices a server that hangs.
 *
 * Invariant: a late answer ends the connection, never the session. Time that this process itself stood still does not
 * count as the server's silence.
 */

export type HeartbeatAction = 'none' | 'send' | 'reconnect';

export class Heartbeat {
  private sentAt: number | undefined;
  private nextAt = -Infinity;
  private lastTickAt = -Infinity;
  private graceMs = 0;

  /** @param timeoutMs of the session; may be negotiated to another value later. */
  constructor(
    private readonly tickMs: number,
    public timeoutMs: number,
  ) {}

  /** A fresh connection: a heartbeat at once. */
  connected(now: number): void {
    this.sentAt = undefined;
    this.nextAt = now;
    this.graceMs = 0;
    this.lastTickAt = now;
  }

  tick(now: number): HeartbeatAction {
    const stalledMs = now - this.lastTickAt - this.tickMs;
    // Answers may lie unread in the socket: give them one more tick for what was lost.
    if (stalledMs > this.tickMs) this.graceMs += stalledMs;
    this.lastTickAt = now;
    if (this.sentAt !== undefined) {
      return now - this.sentAt - this.graceMs > this.timeoutMs / 3 ? 'reconnect' : 'none';
    }
    return now >= this.nextAt ? 'send' : 'none';
  }

  sent(now: number): void {
    this.sentAt = now;
    this.nextAt = now + this.timeoutMs / 4;
    this.graceMs = 0;
  }

  acknowledged(): void {
    this.sentAt = undefined;
  }
}
