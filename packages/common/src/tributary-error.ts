/**
 * The one error class. Every expected failure is a TributaryError with a code from the closed list; what
 * is not one is a defect. Brokers, SDK and CLI throw it; `from` normalises at every boundary.
 */
import { errorCodes, type ErrorCode, type Outcome } from './error-codes';

const BRAND = Symbol.for('tributary.error');

/** Who is right, when a stale view is refused. */
export interface LeaderHint {
  /** -1: no leader. */
  readonly leaderId: number;
  readonly leaderEpoch: number;
  readonly host?: string;
  readonly port?: number;
}

export interface TributaryErrorOptions {
  /** One sentence: what to do. Default: the hint of the code. */
  readonly hint?: string;
  /** What happened to the write, where there was one. */
  readonly outcome?: Outcome;
  readonly leader?: LeaderHint;
  /** Facts for machines: topic, partition, offset, path ... Never secrets. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly cause?: unknown;
}

export class TributaryError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly outcome: Outcome | undefined;
  readonly leader: LeaderHint | undefined;
  readonly details: Readonly<Record<string, string | number | boolean>>;

  /** @param message one line: what happened and why; no code, no hint. */
  constructor(code: ErrorCode, message: string, options: TributaryErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TributaryError';
    this.code = code;
    this.hint = options.hint ?? errorCodes[code].hint;
    this.outcome = options.outcome;
    this.leader = options.leader;
    this.details = options.details ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }

  get retriable(): boolean {
    return errorCodes[this.code].retriable;
  }

  /** The same error, saying what happened to the write. */
  withOutcome(outcome: Outcome): TributaryError {
    const { code, message, hint, leader, details, cause } = this;
    return new TributaryError(code, message, { hint, leader, details, cause, outcome });
  }

  /** Normalises anything thrown. An AbortError becomes CANCELLED; what is unknown becomes `fallback`. */
  static from(thrown: unknown, fallback: ErrorCode = 'INTERNAL'): TributaryError {
    if (thrown instanceof TributaryError) return thrown;
    if (thrown instanceof Error) {
      const code = thrown.name === 'AbortError' ? 'CANCELLED' : fallback;
      return new TributaryError(code, thrown.message, { cause: thrown });
    }
    return new TributaryError(fallback, String(thrown), { cause: thrown });
  }

  /** True across duplicated copies of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  toJSON(): Record<string, unknown> {
    return {
      code: this.code,
      message: this.message,
      hint: this.hint,
      retriable: this.retriable,
      ...(this.outcome ? { outcome: this.outcome } : {}),
      ...(this.leader ? { leader: this.leader } : {}),
      ...(Object.keys(this.details).length > 0 ? { details: this.details } : {}),
    };
  }
}

/** Is it a TributaryError with one of these codes? */
export function hasCode(thrown: unknown, ...codes: ErrorCode[]): thrown is TributaryError {
  return thrown instanceof TributaryError && codes.includes(thrown.code);
}
