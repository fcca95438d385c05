/**
 * At most so many requests in flight: with thousands, the client library's parser starves the timers of the whole
 * process. Others wait in line; beyond the line they are refused. Called by Operations around each attempt.
 */
import { BoundedQueue, TributaryError } from '@tributary/common';

export const maxRequestsInFlight = 256;
export const maxRequestsWaiting = 50_000;

export class InFlightGate {
  private inFlight = 0;
  private readonly waiting: BoundedQueue<() => void>;

  constructor(
    private readonly limit = maxRequestsInFlight,
    waitingLimit = maxRequestsWaiting,
  ) {
    this.waiting = new BoundedQueue(waitingLimit);
  }

  async pass<T>(request: () => Promise<T>): Promise<T> {
    if (this.inFlight < this.limit) this.inFlight += 1;
    else await this.queue();
    try {
      return await request();
    } finally {
      const next = this.waiting.shift();
      // The place is handed on, so that nobody slips in between.
      if (next) next();
      else this.inFlight -= 1;
    }
  }

  private queue(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.waiting.push(resolve)) return;
      reject(
        new TributaryError(
          'OVERLOADED',
          `${this.waiting.maxEntries} requests already wait for the coordinator`,
          { outcome: 'not written' },
        ),
      );
    });
  }
}
