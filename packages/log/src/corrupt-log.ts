/** The error for bytes on disk that are not what was written. Called by whatever reads segments. */
import { TributaryError } from '@tributary/common';

export interface DamagedPlace {
  readonly path: string;
  /** Of the first byte of what does not check: a batch, or an interval of batches. */
  readonly position: number;
  /** Of the first record there, as far as it is known. */
  readonly offset?: number;
}

export function corruptLog(
  problem: string,
  { path, position, offset }: DamagedPlace,
): TributaryError {
  return new TributaryError('CORRUPT_LOG', `${path}, position ${position}: ${problem}`, {
    details: { path, position, ...(offset === undefined ? {} : { offset }) },
  });
}
