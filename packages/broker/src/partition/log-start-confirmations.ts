/**
 * How far up each follower has confirmed the log start, and who waits for it. Invariant: what is answered as deleted
 * does not come back with the next leader, for every in-sync replica has deleted it too. Filled by the leader's side of
 * replication; waited for by deletions of records.
 */
import { TributaryError, type Clock } from '@tributary/common';

/** Deletions of one partition that wait at the same time. */
export const MAX_LOG_START_WAITERS = 100;

interface Waiter {
  readonly offset: number;
  /** Brokers that must have confirmed; may change while it waits. */
  readonly awaited: () => readonly number[];
  settle(error?: TributaryError): void;
}

export class LogStartConfirmations {
  private readonly byBroker = new Map<number, number>();
  private readonly waiters = new Set<Waiter>();

  /** As the newest attach or acknowledgement of that follower says. */
  confirmed(brokerId: number, logStartOffset: number): void {
    this.byBroker.set(brokerId, logStartOffset);
    this.check();
  }

  /** The in-sync replicas may be others now. */
  check(): void {
    for (const waiter of [...this.waiters]) {
      if (this.missing(waiter).length === 0) waiter.settle();
    }
  }

  /** Leadership ended: nothing is known of followers any more. */
  end(error: TributaryError): void {
    this.byBroker.clear();
    for (const waiter of [...this.waiters]) waiter.settle(error);
  }

  /** Resolves when all have; rejects with TIMEOUT, NOT_LEADER or OVERLOADED. */
  reached(
    offset: number,
    awaited: () => readonly number[],
    timeout: { readonly clock: Clock; readonly ms: number },
  ): Promise<void> {
    if (this.missing({ offset, awaited }).length === 0) return Promise.resolve();
    if (this.waiters.size >= MAX_LOG_START_WAITERS) {
      throw new TributaryError('OVERLOADED', `${this.waiters.size} deletions wait already`);
    }
    return new Promise((resolve, reject) => {
      const timer = timeout.clock.setTimer(timeout.ms, () => {
        const brokers = this.missing(waiter).join(', ');
        waiter.settle(
          new TributaryError(
            'TIMEOUT',
            `replicas on brokers ${brokers} have not deleted up to ${offset} yet`,
            { outcome: 'maybe written', details: { offset } },
          ),
        );
      });
      const waiter: Waiter = {
        offset,
        awaited,
        settle: (error) => {
          timer.cancel();
          this.waiters.delete(waiter);
          if (error) reject(error);
          else resolve();
        },
      };
      this.waiters.add(waiter);
    });
  }

  private missing({ offset, awaited }: Pick<Waiter, 'offset' | 'awaited'>): number[] {
    return awaited().filter((brokerId) => (this.byBroker.get(brokerId) ?? -1) < offset);
  }
}
