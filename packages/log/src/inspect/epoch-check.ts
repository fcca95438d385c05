/**
 * Compares leader-epoch-checkpoint with the epochs of the batches. The file may list epochs in which nothing was written,
 * and, while the log is open, may lack the newest ones: it is brought up to date with each flush. Tells the first
 * contradiction. Called by the log chain.
 */
import { hasCode } from '@tributary/common';
import { crc32c } from '@tributary/record';
import { LeaderEpochCache } from '../leader-epoch-cache';
import type { ChainedBatch } from './chained-batch';
import { findWrongByte } from './wrong-byte';
import { MEANING, type InspectionReport } from './report';

export class EpochCheck {
  private readonly epochs: LeaderEpochCache | undefined;
  private isTold = false;
  private before: ChainedBatch | undefined;

  /** @param mayBeBehind the log is not closed: what was not flushed may be of newer epochs. */
  constructor(
    readonly path: string,
    private readonly text: string,
    private readonly mayBeBehind: boolean,
    private readonly report: InspectionReport,
  ) {
    this.epochs = this.parse();
  }

  /** Of a log that is closed. @param expected as the seal of its last segment says; 0: it does not say. */
  onClose(expected: number): void {
    if (expected === 0) return;
    const bytes = Buffer.from(this.text);
    if (crc32c(bytes) === expected) return;
    const position = findWrongByte(bytes, expected)?.position;
    this.damage('it is not as the seal of the last segment says', position);
  }

  onBatch(batch: ChainedBatch): void {
    const { header } = batch;
    const { before, epochs } = this;
    this.before = batch;
    if (!epochs || this.isTold) return;
    const first = epochs.entries[0];
    if (first && header.lastOffset < first.startOffset) return; // below the log start
    const told = epochs.epochOf(header.baseOffset);
    const isBelowStart = first !== undefined && header.baseOffset < first.startOffset;
    if (told !== header.leaderEpoch && !isBelowStart) {
      if (this.mayBeBehind && header.leaderEpoch > epochs.latestEpoch) return;
      const { baseOffset, leaderEpoch } = header;
      this.damage(
        `it says that offset ${baseOffset} is of epoch ${told}, the batch says ${leaderEpoch}`,
        this.lineOf(told),
      );
      return;
    }
    const entry = epochs.entries.find(({ epoch }) => epoch === header.leaderEpoch);
    const isFirst = before && before.header.leaderEpoch < header.leaderEpoch;
    if (isFirst && entry && entry.startOffset <= before.header.lastOffset) {
      const problem = `it says that epoch ${entry.epoch} starts at ${entry.startOffset}, where a batch of epoch ${before.header.leaderEpoch} lies`;
      this.damage(problem, this.lineOf(entry.epoch));
    }
  }

  private parse(): LeaderEpochCache | undefined {
    try {
      return LeaderEpochCache.parse(this.text, this.path);
    } catch (error) {
      if (!hasCode(error, 'CORRUPT_LOG', 'UNKNOWN_FORMAT')) throw error;
      this.damage(error.message.replace(`${this.path}: `, ''), 0);
      return undefined;
    }
  }

  private damage(problem: string, position: number | undefined): void {
    if (this.isTold) return;
    this.isTold = true;
    this.report.damage({ path: this.path, position, problem, meaning: MEANING.epochs });
  }

  /** Position of the line of this epoch; the first byte if there is none. */
  private lineOf(epoch: number): number {
    const at = this.text.indexOf(`\n${epoch} `);
    return at < 0 ? 0 : at + 1;
  }
}
