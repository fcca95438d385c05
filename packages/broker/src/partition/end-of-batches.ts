/** Where do these batches end? Headers only, no record is looked at. Called by pushes and fetches. */
import { TributaryError } from '@tributary/common';
import { batchSizeAt, lastOffsetAt } from '@tributary/record';

/** Offset after the last of these whole batches; `emptyEnd` where there is none. */
export function endOfBatches(batches: Buffer, emptyEnd: number): number {
  let end = emptyEnd;
  for (let at = 0; at < batches.length;) {
    const size = batchSizeAt(batches, at);
    if (size === undefined || at + size > batches.length) {
      throw new TributaryError('CORRUPT_LOG', 'the log gave a batch that is cut off');
    }
    end = lastOffsetAt(batches, at) + 1;
    at += size;
  }
  return end;
}
