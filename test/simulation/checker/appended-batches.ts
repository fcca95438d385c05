/**
 * Every batch that any leader of one partition ever appended, by leader epoch and base offset: so whatever else lies in a
 * log, or is read of it, is no batch of this partition. Compaction takes records out of a batch and leaves its place,
 * epoch, and the other records; that is why a batch of a compacted partition is compared record by record. Called by
 * PartitionModel.
 */
import { checkCrc, decodeBatch, splitBatches, type DecodedRecord } from '@tributary/record';
import { describe, isSame, markOf, type BatchMark } from './marked-log';

export class AppendedBatches {
  private readonly batches = new Map<number, BatchMark>();

  /** Nothing happens where one is known. */
  add(mark: BatchMark): void {
    const key = keyOf(mark);
    if (!this.batches.has(key)) this.batches.set(key, mark);
  }

  /** undefined: nobody appended one there. */
  at(mark: BatchMark): BatchMark | undefined {
    return this.batches.get(keyOf(mark));
  }

  /** What is wrong with bytes that were read from a log; undefined: nothing. */
  flawOf(bytes: Buffer, isCompacted: boolean): string | undefined {
    try {
      for (const batch of splitBatches(bytes)) {
        const flaw = this.flawOfBatch(markOf(batch), isCompacted);
        if (flaw) return flaw;
      }
      return undefined;
    } catch (thrown) {
      return `bytes that are no batches: ${String(thrown)}`;
    }
  }

  private flawOfBatch(mark: BatchMark, isCompacted: boolean): string | undefined {
    const known = this.at(mark);
    if (!known) return `${describe(mark)}, which no leader appended`;
    if (isSame(known, mark)) return undefined;
    if (!checkCrc(mark.bytes)) return `${describe(mark)}, whose bytes do not have that CRC`;
    if (!isCompacted) return `${describe(mark)}, where ${describe(known)} was appended`;
    return isRestOf(mark, known)
      ? undefined
      : `${describe(mark)}, which is not what compaction leaves of ${describe(known)}`;
  }
}

function isRestOf(mark: BatchMark, known: BatchMark): boolean {
  if (mark.lastOffset !== known.lastOffset) return false;
  const appended = new Map(decodeBatch(known.bytes).map((record) => [record.offset, record]));
  return decodeBatch(mark.bytes).every((record) => {
    const before = appended.get(record.offset);
    return before !== undefined && isSameRecord(before, record);
  });
}

function isSameRecord(one: DecodedRecord, other: DecodedRecord): boolean {
  return isSameData(one.key, other.key) && isSameData(one.value, other.value);
}

function isSameData(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

function keyOf({ epoch, baseOffset }: BatchMark): number {
  return epoch * 2 ** 32 + baseOffset;
}
