/**
 * Commits in order: one call to the group store at a time, everything that waits goes into the next one, and
 * of several commits for one ownership only the last is written. Invariant: an earlier commit never overtakes a
 * later one, so that a committed offset goes back only when the user asked for it. Called by the group session.
 */
import { backoffMs, sleep, TributaryError, type Clock, type Deadline } from '@tributary/common';
import { partitionKey, type Random } from '@tributary/common';
import type { OwnedOffsetCommit } from '@tributary/coordination';

/** Commits that wait for the store. */
export const MAX_WAITING_COMMITS = 10_000;

export interface CommitterHooks {
  write(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]>;
  onFenced(commit: OwnedOffsetCommit): void;
}

interface Waiting {
  readonly commit: OwnedOffsetCommit;
  readonly deadline: Deadline;
  readonly settle: (error: TributaryError | undefined) => void;
}

export class Committer {
  private waiting: Waiting[] = [];
  private running: Promise<void> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly hooks: CommitterHooks,
  ) {}

  /** Resolves when all are written; rejects with the first failure, after all are settled. */
  async commit(commits: readonly OwnedOffsetCommit[], deadline: Deadline): Promise<void> {
    deadline.check('committing');
    if (this.waiting.length + commits.length > MAX_WAITING_COMMITS) {
      throw new TributaryError('OVERLOADED', `${this.waiting.length} commits wait for the group`);
    }
    const settled = commits.map(
      (commit) =>
        new Promise<TributaryError | undefined>((settle) =>
          this.waiting.push({ commit, deadline, settle }),
        ),
    );
    this.running ??= this.run();
    const errors = await deadline.race(Promise.all(settled), 'committing').catch(unclear);
    const failed = errors.find((error) => error !== undefined);
    if (failed) throw failed;
  }

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    while (this.running) await this.running;
  }

  private async run(): Promise<void> {
    await Promise.resolve(); // what comes in the same turn goes along
    for (let failures = 0; this.waiting.length > 0;) {
      const batch = this.waiting.filter(({ deadline }) => !over(deadline));
      for (const late of this.waiting) {
        if (over(late.deadline)) late.settle(tooLate());
      }
      this.waiting = [];
      if (batch.length === 0) continue;
      try {
        await this.write(batch);
        failures = 0;
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        if (!mayRetry(error)) {
          for (const { settle } of batch) settle(error);
          continue;
        }
        this.waiting = [...batch, ...this.waiting];
        await sleep(this.clock, backoffMs(failures, this.random));
        failures += 1;
      }
    }
    this.running = undefined;
  }

  private async write(batch: readonly Waiting[]): Promise<void> {
    const last = new Map<string, OwnedOffsetCommit>();
    for (const { commit } of batch) last.set(keyOf(commit), commit);
    const commits = [...last.values()];
    const results = await this.hooks.write(commits);
    const outcome = new Map<string, TributaryError | undefined>();
    commits.forEach((commit, i) => {
      const failure = results[i];
      const error = failure && TributaryError.from(failure);
      outcome.set(keyOf(commit), error);
      if (error?.code === 'FENCED_OWNER') this.hooks.onFenced(commit);
    });
    for (const { commit, settle } of batch) settle(outcome.get(keyOf(commit)));
  }
}

/** It waits, or is on its way, and nobody waits for it any longer. */
function unclear(thrown: unknown): never {
  throw TributaryError.from(thrown).withOutcome('maybe written');
}

/** The membership is over, or the ownership: trying again cannot help. */
function mayRetry(error: TributaryError): boolean {
  return error.retriable && error.code !== 'UNKNOWN_MEMBER' && error.code !== 'SESSION_EXPIRED';
}

function tooLate(): TributaryError {
  return new TributaryError('TIMEOUT', 'the commit is late', { outcome: 'not written' });
}

function over(deadline: Deadline): boolean {
  return deadline.expired || deadline.signal?.aborted === true;
}

function keyOf({ partition, ownerEpoch }: OwnedOffsetCommit): string {
  return `${partitionKey(partition.topicId, partition.partition)}@${ownerEpoch}`;
}
