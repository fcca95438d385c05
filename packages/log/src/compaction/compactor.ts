/**
 * The compactor of one log directory: one pass at a time, on the log that needs it most. Invariant: it never throws; what
 * goes wrong in one log is told and keeps no other log waiting, and that log is left alone for a while. Called by log
 * maintenance, which it does not keep: passes run in the background.
 */
import { hasCode, partitionName, TributaryError, type Clock, type Logger } from '@tributary/common';
import type { Log } from '../log';
import type { MaintenanceDuty } from '../log-maintenance';
import { defaultCompactionLimits, type CompactionLimits } from './compaction-limits';
import type { PassResult } from './compaction-pass';
import { CompactionThrottle } from './compaction-throttle';

/** After a pass that failed, before the next one over the same log. */
export const COMPACTION_RETRY_MS = 5 * 60_000;

export interface CompactorOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default `defaultCompactionLimits`. */
  readonly compactionLimits?: Partial<CompactionLimits>;
}

export type CompactionOutcome =
  | { readonly status: 'nothing' }
  | { readonly status: 'done'; readonly result: PassResult }
  /** The log was truncated or closed, or the compactor stopped. */
  | { readonly status: 'aborted' }
  | { readonly status: 'failed'; readonly error: TributaryError };

/** Since the start, for metrics. */
export interface CompactionTotals {
  readonly passes: number;
  readonly failures: number;
  readonly recordsDropped: number;
  readonly bytesFreed: number;
}

export class Compactor {
  readonly duty: MaintenanceDuty = {
    name: 'compaction',
    run: (logs) => {
      this.begin(logs);
      return Promise.resolve();
    },
    stop: () => this.stop(),
  };

  /** A pass that is under way goes on with the limits that it began with. */
  private limits: CompactionLimits;
  private readonly stopping = new AbortController();
  private readonly retryAt = new WeakMap<Log, number>();
  private running: Promise<void> | undefined;
  private sums: CompactionTotals = { passes: 0, failures: 0, recordsDropped: 0, bytesFreed: 0 };

  constructor(private readonly options: CompactorOptions) {
    this.limits = { ...defaultCompactionLimits, ...options.compactionLimits };
  }

  get totals(): CompactionTotals {
    return this.sums;
  }

  /** Of the passes that begin from now on. undefined: as configured. */
  setRate(bytesPerSecond: number | undefined): void {
    const configured = { ...defaultCompactionLimits, ...this.options.compactionLimits };
    const { maxCompactionBytesPerSecond } = configured;
    this.limits = {
      ...configured,
      maxCompactionBytesPerSecond: bytesPerSecond ?? maxCompactionBytesPerSecond,
    };
  }

  /** Compacts those that are due, the most urgent one first, until none is. Nothing, while that is under way. */
  begin(logs: readonly Log[]): void {
    if (this.stopping.signal.aborted) return;
    this.running ??= this.compactDue(logs).finally(() => (this.running = undefined));
  }

  /** Resolves when no pass is under way. */
  async whenIdle(): Promise<void> {
    while (this.running) await this.running;
  }

  /** Ends a pass at its next step. Resolves when nothing is under way any more. Idempotent. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.whenIdle();
  }

  /** One pass over this log, due or not. Never rejects. */
  async runOnce(log: Log): Promise<CompactionOutcome> {
    const outcome = await this.pass(log);
    this.report(log, outcome);
    return outcome;
  }

  private async compactDue(logs: readonly Log[]): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const log = this.mostUrgent(logs);
      if (!log) return;
      const outcome = await this.runOnce(log);
      if (outcome.status !== 'done') this.rest(log);
    }
  }

  private mostUrgent(logs: readonly Log[]): Log | undefined {
    const now = this.options.clock.now();
    let best: { log: Log; urgency: number } | undefined;
    for (const log of logs) {
      if (log.failure || (this.retryAt.get(log) ?? -Infinity) > now) continue;
      const urgency = this.urgencyOf(log);
      if (urgency !== undefined && urgency > (best?.urgency ?? -Infinity)) best = { log, urgency };
    }
    return best?.log;
  }

  /** A log that is closed, or that fails while it is asked, needs nothing. */
  private urgencyOf(log: Log): number | undefined {
    try {
      return log.compaction.urgency();
    } catch (error) {
      if (!hasCode(error, 'CLOSED', 'STORAGE_ERROR', 'CORRUPT_LOG')) this.rest(log);
      return undefined;
    }
  }

  private rest(log: Log): void {
    this.retryAt.set(log, this.options.clock.now() + COMPACTION_RETRY_MS);
  }

  private async pass(log: Log): Promise<CompactionOutcome> {
    const { clock } = this.options;
    try {
      const throttle = new CompactionThrottle(clock, this.limits, this.stopping.signal);
      const result = await log.compaction.run({ limits: this.limits, throttle });
      return result ? { status: 'done', result } : { status: 'nothing' };
    } catch (thrown) {
      if (hasCode(thrown, 'CANCELLED', 'CLOSED')) return { status: 'aborted' };
      return { status: 'failed', error: TributaryError.from(thrown) };
    }
  }

  private report(log: Log, outcome: CompactionOutcome): void {
    const { logger } = this.options;
    const partition = partitionName(log.topic, log.partition);
    const { passes, failures, recordsDropped, bytesFreed } = this.sums;
    if (outcome.status === 'failed') {
      this.sums = { ...this.sums, failures: failures + 1 };
      const { error } = outcome;
      logger.warn('compaction of a log failed and is tried again later', { partition, error });
    } else if (outcome.status === 'done') {
      const { result } = outcome;
      this.sums = {
        failures,
        passes: passes + 1,
        recordsDropped: recordsDropped + result.recordsDropped,
        bytesFreed: bytesFreed + Math.max(0, result.bytesBefore - result.bytesAfter),
      };
      logger.info('a log was compacted', { partition, ...result });
    }
  }
}
