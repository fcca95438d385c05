/**
 * Who waits for the answer to a produce request on one partition: acks=all for the HW, acks=1 for what counts of the
 * leader's own log, which with `flush=sync` is what is on its device. Invariant: every waiter is called exactly
 * once. Called by `Partition`.
 */
import type { Clock, TributaryError } from '@tributary/common';
import { leadershipLost, notCommitted, notDurable, shortOfReplicas } from './commit-errors';
import { CommitPurgatory, type WaiterBudget } from './commit-purgatory';
import { ownEnd } from './in-sync-replicas';
import type { PartitionState } from './partition-state';

export interface AckWait {
  /** Everything below it. */
  readonly offset: number;
  readonly timeoutMs: number;
  /** undefined: it is there; else why that is not known. */
  readonly done: (error: TributaryError | undefined) => void;
}

export interface AckWaitersHost {
  readonly clock: Clock;
  readonly budget: WaiterBudget;
}

export class AckWaiters {
  private readonly commits: CommitPurgatory;
  private readonly appends: CommitPurgatory;

  constructor(
    private readonly name: string,
    { clock, budget }: AckWaitersHost,
    private readonly state: () => PartitionState,
  ) {
    this.commits = new CommitPurgatory(clock, budget);
    this.appends = new CommitPurgatory(clock, budget);
  }

  get waiting(): number {
    return this.commits.waiting + this.appends.waiting;
  }

  awaitCommit({ offset, timeoutMs, done }: AckWait): void {
    const { name, state } = this;
    if (state().highWatermark >= offset) return done(shortOfReplicas(name, state()));
    this.commits.wait(offset, timeoutMs, (end, reason) => {
      if (end === 'reached') return done(shortOfReplicas(name, state()));
      if (end === 'timeout') return done(notCommitted(name, state(), { offset, timeoutMs }));
      done(leadershipLost(name, reason));
    });
  }

  awaitOwn({ offset, timeoutMs, done }: AckWait): void {
    const { name, state } = this;
    const now = state();
    if (now.role === 'leader' && ownEnd(now) >= offset) return done(undefined);
    this.appends.wait(offset, timeoutMs, (end, reason) => {
      if (end === 'reached') return done(undefined);
      if (end === 'timeout') return done(notDurable(name, state(), { offset, timeoutMs }));
      done(leadershipLost(name, reason));
    });
  }

  committed(highWatermark: number): void {
    this.commits.reached(highWatermark);
  }

  /** The state changed, and with it maybe what counts of the own log. */
  stateChanged(state: PartitionState): void {
    if (state.role === 'leader' && this.appends.waiting > 0) this.appends.reached(ownEnd(state));
  }

  endAll(reason: string): void {
    this.commits.endAll(reason);
    this.appends.endAll(reason);
  }
}
