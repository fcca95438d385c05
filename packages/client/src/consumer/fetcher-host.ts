/** What a fetcher may take, and whom it tells what it finds. Given by the sessions. */
import type { TributaryError } from '@tributary/common';
import type { PartitionCursor } from './partition-cursor';

export interface FetcherLimits {
  readonly maxBytes: number;
  readonly maxPartitionBytes: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBufferedBytes: number;
}

export interface FetcherHooks {
  /** Some cursor has something: a record, a failure. */
  onNews(): void;
  onOutOfRange(cursor: PartitionCursor, error: TributaryError): void;
  /** What was read before `cursor.fetchOffset` is not in the log any more, from `details.divergingOffset` on where that is known. */
  onTruncated(cursor: PartitionCursor, error: TributaryError): void;
  /** The broker does not know this topic id. Answers true when the cursor is to be tried again. */
  onTopicSuspect(cursor: PartitionCursor): Promise<boolean>;
  /** Cannot be healed by waiting. */
  onTell(error: TributaryError): void;
}
