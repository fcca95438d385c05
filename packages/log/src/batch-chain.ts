/**
 * Whether batches that follow each other can be what was written, where no seal tells: each one's CRC, offsets that go
 * on where the batch before ended (or rise, as far up as the log may have gaps), and the leader epoch that the epoch file
 * has for that offset. Called by recovery and by the rebuild of a seal.
 */
import { checkCrc, type BatchHeader } from '@tributary/record';
import { headerAt } from './batch-scan';
import { SEGMENT_OFFSETS_MAX } from './segment-seal';

export interface ChainRules {
  /** That the batch at `offset` must have, which says that it has `found`; -1: not known. */
  readonly epochOf: (offset: number, found: number) => number;
  readonly mayLeaveGap: (baseOffset: number) => boolean;
}

export type ChainLink =
  | { readonly header: BatchHeader; readonly problem?: undefined }
  | {
      readonly problem: string;
      /** The bytes are a batch, but not the one that belongs there: no torn write leaves that. */
      readonly isWhole: boolean;
    };

export class BatchChain {
  nextOffset: number;

  constructor(
    private readonly rules: ChainRules,
    private readonly baseOffset: number,
    private latestEpoch = -1,
  ) {
    this.nextOffset = baseOffset;
  }

  /** Takes the batch, or tells what is wrong with it. */
  link(batch: Buffer): ChainLink {
    if (!checkCrc(batch)) return { problem: 'a batch fails its CRC', isWhole: false };
    const header = headerAt(batch, 0);
    if (!header) return { problem: 'a batch has an impossible header', isWhole: true };
    const problem = this.misfit(header);
    if (problem) return { problem, isWhole: true };
    this.nextOffset = header.lastOffset + 1;
    this.latestEpoch = header.leaderEpoch;
    return { header };
  }

  private misfit({ baseOffset, lastOffset, leaderEpoch }: BatchHeader): string | undefined {
    const { nextOffset, latestEpoch, rules } = this;
    const isGap = baseOffset > nextOffset && rules.mayLeaveGap(baseOffset);
    const follows = isGap || baseOffset === nextOffset;
    if (!follows || lastOffset - this.baseOffset > SEGMENT_OFFSETS_MAX)
      return `a batch has base offset ${baseOffset}, ${nextOffset} is next`;
    const expected = rules.epochOf(baseOffset, leaderEpoch);
    if (expected >= 0 && leaderEpoch !== expected) {
      return `a batch has leader epoch ${leaderEpoch} instead of ${expected}`;
    }
    if (leaderEpoch < latestEpoch) {
      return `a batch has leader epoch ${leaderEpoch} after ${latestEpoch}`;
    }
    return undefined;
  }
}
