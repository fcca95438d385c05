/**
 * One fetch request: reads what is there below the HWs, and waits, if that is less than asked, until there is
 * more, something fails, or its time is over. Invariant: answers exactly once, unless cancelled; holds at most the
 * request's limit of bytes (the first batch is always whole). Called by stream and unary handler.
 */
import { TributaryError, type Timer } from '@tributary/common';
import type { FetchRequest, FetchResultInput } from '@tributary/protocol';
import type { Caller, DataHost } from './data-host';
import { FetchEntry, type ReadRange } from './fetch-entry';
import { DecodedRoom } from './fetch-structured';

export class PendingFetch {
  private readonly entries: FetchEntry[];
  private readonly maxBytes: number;
  private readonly minBytes: number;
  private readonly deadline: number;
  private bytes = 0;
  private timer: Timer | undefined;
  private unwatch: (() => void)[] = [];
  private gathering = false;
  /** May have more since they were last looked at: of a thousand partitions few move at a time. */
  private readonly moved = new Set<FetchEntry>();
  private over = false;

  constructor(
    private readonly host: DataHost,
    private readonly request: FetchRequest,
    private readonly caller: Caller,
    private readonly respond: (results: FetchResultInput[]) => void,
  ) {
    const { limits, clock } = host;
    const most = request.structured ? limits.maxStructuredFetchBytes : limits.maxFetchBytes;
    this.maxBytes = Math.min(request.maxBytes || most, most);
    this.entries = request.partitions.map((asked) => {
      const maxBytes = asked.maxBytes || limits.defaultPartitionFetchBytes;
      return new FetchEntry(asked, Math.min(maxBytes, this.maxBytes));
    });
    const reachable = this.entries.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
    this.minBytes = Math.min(request.minBytes, this.maxBytes, reachable);
    this.deadline = clock.now() + Math.min(request.maxWaitMs, limits.maxFetchWaitMs);
  }

  start(): void {
    const { maxPartitionsPerRequest } = this.host.limits;
    if (this.entries.length > maxPartitionsPerRequest) {
      const message = `a request may name ${maxPartitionsPerRequest} partitions, not ${this.entries.length}`;
      return this.refuse(new TributaryError('INVALID_ARGUMENT', message));
    }
    this.gather(this.entries, 0);
  }

  refuse(error: TributaryError): void {
    for (const entry of this.entries) entry.fail(error);
    this.finish();
  }

  /** The caller went away. */
  cancel(): void {
    this.over = true;
    this.stopWaiting();
  }

  /** Reads hot data at once; at the first cold read it goes on when that has come. */
  private gather(entries: readonly FetchEntry[], from: number): void {
    this.gathering = true;
    for (let at = from; at < entries.length && this.bytes < this.maxBytes; at += 1) {
      const entry = entries[at] as FetchEntry;
      const range = entry.readable(this.host, this.caller);
      if (!range) continue;
      const cold = this.read(entry, range);
      if (!cold) continue;
      void cold.then(() => {
        if (!this.over) this.gather(entries, at + 1);
      });
      return;
    }
    this.gathering = false;
    this.settle();
  }

  /** A promise, which never rejects, where the data is cold. */
  private read(entry: FetchEntry, range: ReadRange): Promise<void> | undefined {
    const { partition, offset, below } = range;
    const room = this.maxBytes - this.bytes;
    const take = (batches: Buffer): void => {
      this.bytes += entry.take(batches, room, this.bytes === 0);
    };
    try {
      const maxBytes = Math.max(1, Math.min(room, entry.maxBytes - entry.bytes));
      const batches = partition.read(offset, maxBytes, below);
      if (!Buffer.isBuffer(batches)) {
        return batches.then(take).catch((error: unknown) => entry.fail(error));
      }
      take(batches);
    } catch (error) {
      entry.fail(error);
    }
    return undefined;
  }

  private settle(): void {
    if (this.over) return;
    const failed = this.entries.some(({ error }) => error !== undefined);
    const closed = this.bytes > 0 && this.entries.every(({ full }) => full);
    const enough = this.bytes >= this.minBytes && (this.bytes > 0 || this.minBytes === 0);
    if (failed || closed || enough || this.host.clock.now() >= this.deadline) return this.finish();
    if (this.moved.size > 0) return this.gatherMoved();
    this.wait();
  }

  private wait(): void {
    if (this.timer) return;
    const { clock } = this.host;
    this.timer = clock.setTimer(this.deadline - clock.now(), () => this.finish());
    const wake = (entry: FetchEntry): void => {
      const isFirst = this.moved.size === 0;
      this.moved.add(entry);
      if (!isFirst || this.gathering) return;
      // Several partitions may move in one tick: look at all of them once.
      queueMicrotask(() => {
        if (!this.over) this.gatherMoved();
      });
    };
    for (const entry of this.entries) {
      const stop = entry.watch(() => wake(entry));
      if (stop) this.unwatch.push(stop);
    }
  }

  private gatherMoved(): void {
    const moved = this.entries.filter((entry) => this.moved.has(entry));
    this.moved.clear();
    this.gather(moved, 0);
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.stopWaiting();
    const room = this.request.structured ? new DecodedRoom() : undefined;
    this.respond(this.entries.map((entry) => entry.result(room)));
  }

  private stopWaiting(): void {
    this.timer?.cancel();
    for (const stop of this.unwatch) stop();
    this.unwatch = [];
  }
}
