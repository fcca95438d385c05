/**
 * What happened when, as a person reads it (standard error) and as data. Times are milliseconds since the load began.
 */
export interface TimelineEvent {
  readonly atMs: number;
  readonly what: string;
}

/** A fault, from its beginning until it is healed. */
export interface FaultSpan {
  readonly fromMs: number;
  toMs: number;
  readonly what: string;
}

export class Timeline {
  readonly events: TimelineEvent[] = [];
  readonly faults: FaultSpan[] = [];
  readonly startedAt = performance.now();

  constructor(private readonly print: (line: string) => void) {}

  get nowMs(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  /** When the last fault was healed; undefined: there was none. */
  get healedMs(): number | undefined {
    return this.faults.length === 0 ? undefined : Math.max(...this.faults.map(({ toMs }) => toMs));
  }

  note(what: string): void {
    const atMs = this.nowMs;
    this.events.push({ atMs, what });
    this.print(`${(atMs / 1000).toFixed(3).padStart(8)} s  ${what}`);
  }

  /** A fault begins. Call what it answers when it is healed, with how. */
  fault(what: string): (healed: string) => void {
    this.note(what);
    const span: FaultSpan = { fromMs: this.nowMs, toMs: this.nowMs, what };
    this.faults.push(span);
    return (healed) => {
      span.toMs = this.nowMs;
      this.note(healed);
    };
  }
}
