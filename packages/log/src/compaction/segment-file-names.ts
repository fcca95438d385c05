/** The files of a segment, in the order in which they are renamed: the `.log` last, it says that the others are there. */
import { segmentName } from '../segment';

const KINDS = ['index', 'timeindex', 'seal', 'log'];

export const CLEANED = '.cleaned';
export const SWAP = '.swap';

export function segmentFileNames(baseOffset: number): string[] {
  return KINDS.map((kind) => `${segmentName(baseOffset)}.${kind}`);
}
