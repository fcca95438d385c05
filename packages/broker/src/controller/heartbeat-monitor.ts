/**
 * Who has been silent for too long. Time in which this process itself stood still (garbage collection,
 * SIGSTOP, a blocked event loop) does not count against anybody: after a check that came much too late,
 * counting starts anew, for what arrived meanwhile may still lie unread. Called by the controller's driver.
 */
export interface Heard {
  readonly brokerId: number;
  readonly brokerEpoch: number;
  /** undefined: never yet. */
  readonly lastHeardAt: number | undefined;
}

export class HeartbeatMonitor {
  private lastCheckAt: number;
  private countsFrom: number;

  constructor(
    private readonly intervalMs: number,
    private readonly timeoutMs: number,
    now: number,
  ) {
    this.lastCheckAt = now;
    this.countsFrom = now;
  }

  /** Called every `intervalMs`. */
  check(now: number, brokers: readonly Heard[]): Heard[] {
    if (now - this.lastCheckAt > 2 * this.intervalMs) this.countsFrom = now;
    this.lastCheckAt = now;
    return brokers.filter(({ lastHeardAt }) => {
      if (lastHeardAt === undefined) return false;
      return now - Math.max(lastHeardAt, this.countsFrom) > this.timeoutMs;
    });
  }
}
