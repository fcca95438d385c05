/**
 * What a compaction left half done, before a log is loaded: see segment-swap for the steps. Invariant: after it the
 * directory holds segments alone, either all originals of a swap or what was made of them. A `.swap` at or
 * above the smallest `.cleaned` is of a group that was not complete (Kafka may write such) and is undone. May itself be
 * cut short by a crash: the next start does the rest. Called by the loader.
 */
import { batchesEnd } from './batches-end';
import type { Disk } from '../disk';
import { CLEANED, segmentFileNames, SWAP } from './segment-file-names';

const ASIDE = /^([0-9]{20})\.(log|index|timeindex|seal|txnindex)\.(cleaned|swap)$/;
const SEGMENT_LOG = /^([0-9]{20})\.log$/;

/** @param names of the directory. False: there was nothing to do. */
export function finishSwaps(disk: Disk, directory: string, names: readonly string[]): boolean {
  const aside = names.filter((name) => ASIDE.test(name));
  if (aside.length === 0) return false;
  const basesOf = (suffix: string): number[] =>
    aside.filter((name) => name.endsWith(`.log${suffix}`)).map((name) => Number(name.slice(0, 20)));
  const firstIncomplete = Math.min(...basesOf(CLEANED));
  const complete = new Set(basesOf(SWAP).filter((base) => base < firstIncomplete));
  for (const name of aside) {
    const isOfComplete = name.endsWith(SWAP) && complete.has(Number(name.slice(0, 20)));
    if (!isOfComplete) disk.remove(`${directory}/${name}`);
  }
  for (const base of complete) finishSwap(disk, directory, { base, names });
  return true;
}

function finishSwap(
  disk: Disk,
  directory: string,
  { base, names }: { readonly base: number; readonly names: readonly string[] },
): void {
  const path = (name: string): string => `${directory}/${name}`;
  const [seal, log] = segmentFileNames(base).slice(-2);
  const files = { log: path(`${log}${SWAP}`), seal: path(`${seal}${SWAP}`) };
  const end = batchesEnd(disk, files, base);
  for (const name of names) {
    const original = Number(SEGMENT_LOG.exec(name)?.[1] ?? NaN);
    if (!(original > base && original < end)) continue;
    for (const file of segmentFileNames(original)) disk.remove(path(file));
  }
  for (const name of segmentFileNames(base)) {
    if (names.includes(`${name}${SWAP}`)) disk.rename(path(`${name}${SWAP}`), path(name));
  }
}
