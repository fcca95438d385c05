/** The files of one segment, opened for inspection: which there are, and the seal if it may be believed. */
import { hasCode } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { Disk } from '../disk';
import { segmentName } from '../segment';
import { decodeSeal, type FileSum, type SegmentSeal } from '../segment-seal';
import { readIfThere } from './read-whole';
import { MEANING, type InspectionReport } from './report';
import { findWrongByte, isWrongSum } from './wrong-byte';

const CRC_BYTES = 4;

export interface SegmentPaths {
  readonly log: string;
  readonly index: string;
  readonly timeIndex: string;
  readonly seal: string;
}

export function segmentPaths(directory: string, baseOffset: number): SegmentPaths {
  const path = `${directory}/${segmentName(baseOffset)}`;
  return {
    log: `${path}.log`,
    index: `${path}.index`,
    timeIndex: `${path}.timeindex`,
    seal: `${path}.seal`,
  };
}

export interface SealFile {
  /** There is one, damaged or not: nothing is written to the segment any more. */
  readonly exists: boolean;
  readonly seal: SegmentSeal | undefined;
}

export function readSeal(disk: Disk, path: string, report: InspectionReport): SealFile {
  const bytes = readIfThere(disk, path);
  if (!bytes) return { exists: false, seal: undefined };
  try {
    return { exists: true, seal: decodeSeal(bytes, path) };
  } catch (error) {
    if (!hasCode(error, 'CORRUPT_LOG', 'UNKNOWN_FORMAT')) throw error;
    const problem = error.message.replace(`${path}: `, '');
    const position = wrongPosition(bytes) ?? Number(error.details?.['position'] ?? 0);
    report.damage({ path, position, problem, meaning: MEANING.seal });
    return { exists: true, seal: undefined };
  }
}

/** The sum at its end covers all that is before. */
function wrongPosition(bytes: Buffer): number | undefined {
  const crcAt = bytes.length - CRC_BYTES;
  if (crcAt <= 0) return undefined;
  const [body, stored] = [bytes.subarray(0, crcAt), bytes.readUInt32BE(crcAt)];
  return isWrongSum(body, stored) ? crcAt : findWrongByte(body, stored)?.position;
}

/**
 * An index whose sum the seal holds; undefined: it cannot be compared with the batches. Without a seal there is nothing to
 * compare the bytes with, and the file may be behind, or of before a truncation, while the segment is written to.
 */
export function readIndex(
  disk: Disk,
  path: string,
  sum: FileSum | undefined,
  report: InspectionReport,
): Buffer | undefined {
  const bytes = readIfThere(disk, path);
  if (!sum) return bytes;
  if (!bytes) {
    if (sum.bytes === 0) return Buffer.alloc(0);
    const problem = `it is missing; the seal says that it has ${sum.bytes} bytes`;
    report.damage({ path, problem, meaning: MEANING.derived });
    return undefined;
  }
  if (bytes.length === sum.bytes && crc32c(bytes) === sum.crc) return bytes;
  report.damage({ path, ...indexProblem(bytes, sum), meaning: MEANING.derived });
  return undefined;
}

function indexProblem(bytes: Buffer, sum: FileSum): { problem: string; position: number } {
  if (bytes.length !== sum.bytes) {
    const problem = `it has ${bytes.length} bytes; the seal says ${sum.bytes}`;
    return { problem, position: Math.min(bytes.length, sum.bytes) };
  }
  const position = findWrongByte(bytes, sum.crc)?.position ?? 0;
  return { problem: 'it does not have the CRC that the seal says', position };
}
