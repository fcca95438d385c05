/** A batch that may be believed, with where it lies: what the checks along a whole log are told. */
import type { BatchHeader } from '@tributary/record';

export interface ChainedBatch {
  readonly path: string;
  readonly position: number;
  readonly header: BatchHeader;
  readonly segmentBase: number;
}
