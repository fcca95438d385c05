/**
 * One partition of a fetch under way: what was read of it so far, and why it ended. What lies below the HW never
 * changes, so a fetch that waits for more bytes goes on where it stopped instead of reading again.
 * Called by `PendingFetch`.
 */
import { TributaryError } from '@tributary/common';
import { toWireError, type FetchPartition, type FetchResultInput } from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import { endOfBatches } from '../partition/end-of-batches';
import { divergence } from '../replication/truncation';
import { ledPartition, type Caller, type DataHost } from './data-host';
import { decodeFetched, type DecodedRoom } from './fetch-structured';
import { requireKnownEnd } from './known-end';

export interface ReadRange {
  readonly partition: Partition;
  readonly offset: number;
  readonly below: number;
}

export class FetchEntry {
  bytes = 0;
  error: TributaryError | undefined;
  /** No more is read for it: its limit is reached, or the next batch does not fit any more. */
  full = false;
  private partition: Partition | undefined;
  /** What the caller read before is in this log, too. */
  private isPrefix = false;
  private divergingOffset: number | undefined;
  private nextOffset: number;
  private readonly chunks: Buffer[] = [];

  constructor(
    private readonly asked: FetchPartition,
    readonly maxBytes: number,
  ) {
    this.nextOffset = asked.offset;
  }

  /** What may be read now; undefined: nothing, for now or for ever. */
  readable(host: DataHost, caller: Caller): ReadRange | undefined {
    if (this.error || this.full) return undefined;
    try {
      const { partition, leader } = ledPartition(host, this.asked, caller);
      this.partition = partition;
      const { logStartOffset } = partition.log;
      const offset = this.nextOffset;
      if (offset >= logStartOffset) this.requirePrefix(partition);
      if (offset > leader.logEndOffset) requireKnownEnd(partition, leader);
      if (offset < logStartOffset || offset > leader.logEndOffset) {
        throw outOfRange(partition, offset, leader.logEndOffset);
      }
      // Between HW and log end: it will be committed, or the leader changes; the client waits (never out of range).
      if (offset >= leader.highWatermark) return undefined;
      return { partition, offset, below: leader.highWatermark };
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  /** KIP-320: an unclean election, or an accepted loss, may have cut what the caller read, and filled it with other records. */
  private requirePrefix(partition: Partition): void {
    const { offset, lastEpoch } = this.asked;
    if (this.isPrefix || lastEpoch === undefined) return;
    const parting = divergence(partition.log, { logEndOffset: offset, lastEpoch });
    this.isPrefix = parting === undefined;
    if (!parting) return;
    // Of an epoch that is not here: the record before the caller's offset is of it, so that at least that one is gone.
    const { endOffset } = parting;
    this.divergingOffset =
      parting.epoch === lastEpoch ? endOffset : Math.min(endOffset, offset - 1);
    throw new TributaryError(
      'LOG_TRUNCATED',
      `${partition.name}: what was read before offset ${offset} in epoch ${lastEpoch} is not in the log any more from offset ${this.divergingOffset} on`,
    );
  }

  /** @param room what the whole request may still take; its very first batch is taken whatever its size. */
  take(batches: Buffer, room: number, isFirst: boolean): number {
    if (batches.length === 0) return 0;
    if (!isFirst && batches.length > Math.min(room, this.maxBytes - this.bytes)) {
      this.full = true;
      return 0;
    }
    this.chunks.push(batches);
    this.bytes += batches.length;
    this.nextOffset = endOfBatches(batches, this.nextOffset);
    if (this.bytes >= this.maxBytes) this.full = true;
    return batches.length;
  }

  /** What was read before stays good: only an entry without data answers with its error. */
  fail(error: unknown): void {
    if (this.chunks.length > 0) this.full = true;
    else this.error = TributaryError.from(error, 'STORAGE_ERROR');
  }

  /** Calls back when there may be more to read; undefined: it has no partition here. */
  watch(watcher: () => void): (() => void) | undefined {
    return this.error || this.full ? undefined : this.partition?.watch(watcher);
  }

  /** @param room where decoded records are asked for. */
  result(room: DecodedRoom | undefined): FetchResultInput {
    const { topic, topicId, partition: number, offset } = this.asked;
    const base = { topic, topicId: this.partition?.topicId ?? topicId, partition: number };
    if (this.error) {
      const { error, divergingOffset } = this;
      return {
        ...{ ...base, highWatermark: -1, logStartOffset: -1, error: toWireError(error) },
        ...(divergingOffset === undefined ? {} : { divergingOffset }),
      };
    }
    const { partition, chunks } = this;
    const known = {
      ...base,
      highWatermark: partition?.state.highWatermark ?? -1,
      logStartOffset: partition?.log.logStartOffset ?? -1,
    };
    const batches = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    if (!room || batches === undefined) return { ...known, batches };
    try {
      return { ...known, records: decodeFetched(batches, offset, room) };
    } catch (error) {
      return { ...known, error: toWireError(error) };
    }
  }
}

function outOfRange(partition: Partition, offset: number, logEndOffset: number): TributaryError {
  const { logStartOffset } = partition.log;
  const message = `${partition.name}: offset ${offset} is not between ${logStartOffset} and ${logEndOffset}`;
  return new TributaryError('OFFSET_OUT_OF_RANGE', message, {
    details: { offset, logStartOffset, logEndOffset },
  });
}
