/**
 * One segment: seal, indexes, then every batch. Reads with a bounded window, whatever the size. Of the segment that a
 * running broker writes to, the file as it was when we looked is checked; a batch at its end that is only half
 * there is looked at again a moment later, because a write may be under way. Called by verify-partition.
 */
import { sleep, type Clock } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { Disk, DiskFile } from '../disk';
import type { SegmentSeal } from '../segment-seal';
import { walkBatches, type TornBatch, type WalkedBatch } from './batch-walk';
import { OffsetIndexCheck, TimeIndexCheck } from './index-check';
import { fieldAt, GAP, hex, IntervalCheck, type Believed } from './interval-check';
import type { LogChain } from './log-chain';
import { openIfThere } from './read-whole';
import { MEANING, type InspectionReport } from './report';
import { readIndex, readSeal, segmentPaths, type SegmentPaths } from './segment-files';
import { findWrongByte, isWrongSum } from './wrong-byte';

const CRC_AT = 17;
const CRC_FROM = 21;
/** How often, and after how long, an end that is only half there is looked at again. */
const TORN_LOOKS = 5;
const TORN_WAIT_MS = 100;

export interface InspectionContext {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: InspectionReport;
}

export interface SegmentToVerify {
  readonly directory: string;
  readonly baseOffset: number;
  /** Of the log: it may be written to. */
  readonly isLast: boolean;
}

/** The seal, if there is one that checks. */
export async function verifySegment(
  context: InspectionContext,
  segment: SegmentToVerify,
  chain: LogChain,
): Promise<SegmentSeal | undefined> {
  const { disk, report } = context;
  const paths = segmentPaths(segment.directory, segment.baseOffset);
  const { exists, seal } = readSeal(disk, paths.seal, report);
  const file = openIfThere(disk, paths.log);
  if (!file) {
    report.note(`${paths.log} went meanwhile`);
    return undefined;
  }
  try {
    report.segments += 1;
    report.bytes += file.size;
    const isWrittenTo = segment.isLast && !exists;
    await new SegmentVerifier(context, segment, { paths, seal, isWrittenTo, chain }).run(file);
  } finally {
    file.close();
  }
  return seal;
}

interface SegmentParts {
  readonly paths: SegmentPaths;
  readonly seal: SegmentSeal | undefined;
  /** Its indexes on disk say nothing, and its end may be half there. */
  readonly isWrittenTo: boolean;
  readonly chain: LogChain;
}

class SegmentVerifier {
  private readonly report: InspectionReport;
  private readonly intervals: IntervalCheck | undefined;
  private readonly offsetIndex: OffsetIndexCheck | undefined;
  private readonly timeIndex: TimeIndexCheck;
  private readonly hasTimeIndex: boolean;
  private readonly damagesBefore: number;
  private readonly segmentBase: number;
  private nextOffset: number;

  constructor(
    private readonly context: InspectionContext,
    segment: SegmentToVerify,
    private readonly parts: SegmentParts,
  ) {
    const { disk, report } = context;
    const { paths, seal, isWrittenTo } = parts;
    const { baseOffset } = segment;
    this.report = report;
    this.damagesBefore = report.damages;
    this.segmentBase = baseOffset;
    this.nextOffset = baseOffset;
    this.intervals = seal && new IntervalCheck(paths.log, seal, report);
    const index = isWrittenTo ? undefined : readIndex(disk, paths.index, seal?.index, report);
    const times = isWrittenTo
      ? undefined
      : readIndex(disk, paths.timeIndex, seal?.timeIndex, report);
    this.offsetIndex = index && new OffsetIndexCheck(paths.index, index, baseOffset, report);
    this.hasTimeIndex = times !== undefined;
    const none = Buffer.alloc(0);
    this.timeIndex = new TimeIndexCheck(paths.timeIndex, times ?? none, baseOffset, report);
  }

  async run(file: DiskFile): Promise<void> {
    const anchors = this.intervals?.positions ?? this.offsetIndex?.positions ?? [];
    for await (const step of walkBatches(file, 0, anchors)) {
      if (step.kind === 'batch') {
        this.countBatch(step);
        this.believe(this.intervals ? this.intervals.add(step) : [step]);
      } else if (step.kind === 'torn') {
        await this.onTorn(step);
      } else {
        this.damage(step.faultAt, `the batch at ${step.position}: ${step.problem}`, MEANING.log);
        this.onGap(step.position);
      }
    }
    this.believe(this.intervals?.finish() ?? []);
    this.finish(file);
  }

  private countBatch({ position, bytes, header, crcMatches }: WalkedBatch): void {
    this.report.batches += 1;
    this.report.records += Math.max(0, header.recordsCount);
    if (crcMatches) return;
    const stored = bytes.readUInt32BE(CRC_AT);
    const covered = bytes.subarray(CRC_FROM);
    const told = `the batch at ${position} (offset ${header.baseOffset} on) fails its CRC: it is ${crc32c(covered).toString(16)}, it says ${stored.toString(16)}`;
    if (isWrongSum(covered, stored)) {
      this.damage(position + CRC_AT, `${told}; a byte of the CRC itself changed`, MEANING.batch);
      return;
    }
    const wrong = findWrongByte(covered, stored);
    if (!wrong) return this.damage(position, told, MEANING.batch);
    const at = CRC_FROM + wrong.position;
    const where = `in its ${fieldAt(at)}, byte ${hex(wrong.is)} was ${hex(wrong.was)}`;
    this.damage(position + at, `${told}; ${where}`, MEANING.batch);
  }

  private believe(batches: readonly Believed[]): void {
    const { paths, chain } = this.parts;
    for (const batch of batches) {
      // What stands under a CRC that does not match says nothing.
      if (batch === GAP || ('crcMatches' in batch && !batch.crcMatches)) {
        chain.interrupt();
        this.timeIndex.interrupt();
        continue;
      }
      const { position, header } = batch;
      this.offsetIndex?.onBatch(position, header);
      this.timeIndex.onBatch(header);
      const { segmentBase } = this;
      chain.onBatch({ path: paths.log, position, header, segmentBase });
      this.nextOffset = header.lastOffset + 1;
    }
  }

  /** A batch is missing in the account of the log. */
  private onGap(position: number): void {
    this.believe(this.intervals ? this.intervals.addBroken(position) : [GAP]);
  }

  private async onTorn(torn: TornBatch): Promise<void> {
    const { paths, isWrittenTo } = this.parts;
    if (isWrittenTo && (await this.isWholeLater(torn))) return;
    const { position, bytesLeft, bytesNeeded } = torn;
    const problem = `the file ends ${bytesLeft} bytes into a batch of at least ${bytesNeeded}`;
    this.damage(position, problem, isWrittenTo ? MEANING.torn : MEANING.log);
    this.onGap(position);
    if (isWrittenTo) this.report.note(`${paths.log} is not sealed: its broker runs or was killed`);
  }

  /** True: it was being written, or was cut away meanwhile. */
  private async isWholeLater({ position, bytesNeeded }: TornBatch): Promise<boolean> {
    const { disk, clock } = this.context;
    for (let look = 0; look < TORN_LOOKS; look += 1) {
      await sleep(clock, TORN_WAIT_MS);
      const file = openIfThere(disk, this.parts.paths.log);
      const size = file?.size ?? 0;
      file?.close();
      if (size <= position || size >= position + bytesNeeded) return true;
    }
    return false;
  }

  private finish(file: DiskFile): void {
    const isSound = this.report.damages === this.damagesBefore;
    if (!isSound) return; // what is missing would be missed by the indexes, too
    this.offsetIndex?.finish();
    if (this.hasTimeIndex) this.timeIndex.finish(!this.parts.isWrittenTo);
    const { seal, paths } = this.parts;
    if (!seal) return;
    const told = { bytes: seal.logBytes, nextOffset: seal.nextOffset, maxTimestamp: seal.maxTimestamp?.timestamp }; // prettier-ignore
    const found = { bytes: file.size, nextOffset: this.nextOffset, maxTimestamp: this.timeIndex.maxTimestamp?.timestamp }; // prettier-ignore
    if (JSON.stringify(told) === JSON.stringify(found)) return;
    const problem = `its seal says ${JSON.stringify(told)}, it is ${JSON.stringify(found)}`;
    const position = Math.min(seal.logBytes, file.size);
    this.report.damage({ path: paths.log, position, problem, meaning: MEANING.log });
  }

  private damage(position: number, problem: string, meaning: string): void {
    this.report.damage({ path: this.parts.paths.log, position, problem, meaning });
  }
}
