/**
 * One recopied segment takes the place of several. Safe to crash at any moment; the files of base offset B:
 *
 *   1. B.*.cleaned   written, synced                     a crash: removed by the loader
 *   2. B.*.swap      renamed, B.log last; synced         from here on the change has happened
 *   3. originals     but B.log are removed               a crash: the loader does steps 3 and 4
 *   4. B.*           renamed, B.log last; synced
 *
 * Steps 3 and 4 and the change in memory are one synchronous step. Renames and removals of one directory reach the
 * device in their order, some of the last ones perhaps not at all. Whoever cuts the log between 2 and 3 must
 * `abandon` first, or the loader would bring back what was cut. Called by the compaction pass.
 */
import { assert, TributaryError } from '@tributary/common';
import type { LogState } from '../log-state';
import { Segment } from '../segment';
import { CLEANED, segmentFileNames, SWAP } from './segment-file-names';

export class SegmentSwap {
  private stage: 'written' | 'committed' | 'over' = 'written';

  /** @param cleaned made with the suffix `.cleaned`, whole, its files synced. */
  constructor(
    private readonly log: LogState,
    private readonly originals: readonly Segment[],
    private readonly cleaned: Segment,
  ) {}

  /** Step 2; the directory is yet to be synced. */
  commit(): void {
    assert(this.stage === 'written', 'a swap is committed once');
    this.cleaned.close();
    this.rename(CLEANED, SWAP);
    this.stage = 'committed';
  }

  /** Steps 3 and 4; the directory is yet to be synced. */
  finish(): void {
    assert(this.stage === 'committed', 'a swap is committed before it is finished');
    this.stage = 'over';
    try {
      this.takePlace();
    } catch (thrown) {
      // Half of it: the log in memory is not the one on the disk any more, also where the disk was only full.
      const error = TributaryError.from(thrown);
      if (error.code === 'INTERNAL') throw error;
      throw new TributaryError('STORAGE_ERROR', error.message, { cause: error });
    }
  }

  private takePlace(): void {
    const { log, originals, cleaned } = this;
    const [first, ...others] = originals;
    for (const original of originals) log.bytes -= original.size;
    for (const original of others) original.remove();
    first?.close();
    this.rename(SWAP, '');
    const segment = Segment.open(log.files, cleaned.baseOffset);
    assert(segment.trust(), `${segment.file.path} is whole`);
    log.bytes += segment.size;
    log.segments.replace(originals, segment);
    log.sealTimes.replaced(originals[originals.length - 1] as Segment, segment);
    // Whoever waits for the disk starts again with the new one.
    log.flusher.truncations += 1;
    log.flusher.directoryChanged();
  }

  /** Undoes steps 1 and 2; nothing, once it is finished. */
  abandon(): void {
    if (this.stage === 'over') return;
    const suffix = this.stage === 'committed' ? SWAP : CLEANED;
    this.stage = 'over';
    this.cleaned.close();
    // The .log first: without it the others say nothing.
    for (const name of segmentFileNames(this.cleaned.baseOffset).reverse()) {
      this.log.disk.remove(`${this.log.directory}/${name}${suffix}`);
    }
  }

  private rename(from: string, to: string): void {
    const { disk, directory } = this.log;
    for (const name of segmentFileNames(this.cleaned.baseOffset)) {
      const path = `${directory}/${name}`;
      if (disk.exists(`${path}${from}`)) disk.rename(`${path}${from}`, `${path}${to}`);
    }
  }
}
