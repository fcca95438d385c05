/**
 * What lies in the files of a log, line by line, as it is: nothing is judged but the CRC of each batch. Streams, with a
 * bounded window. Called by `trib debug segment dump`.
 */
import { decodeBatch, type BatchHeader, type DecodedRecord } from '@tributary/record';
import { TributaryError } from '@tributary/common';
import type { Disk } from '../disk';
import { decodeSnapshot } from '../producer-snapshot';
import { findSegments } from '../segment-list';
import { decodeSeal, intervalsOf } from '../segment-seal';
import { walkBatches, type WalkStep } from './batch-walk';
import { inspectedPath, type InspectedPath } from './inspected-path';
import { openIfThere, readIfThere } from './read-whole';
import { segmentPaths } from './segment-files';

export interface DumpOptions {
  /** With what is in the batches. */
  readonly records?: boolean;
  /** From the batch that holds this offset on. Default: all. */
  readonly offset?: number;
  /** So many batches. Default: all. */
  readonly limit?: number;
}

/** Names equal those of the command's output. */
export type DumpLine =
  | { readonly type: 'file'; readonly path: string }
  | ({ readonly type: 'batch' } & DumpedBatch)
  | ({ readonly type: 'record' } & DumpedRecord)
  | { readonly type: 'broken'; readonly position: number; readonly problem: string }
  | {
      readonly type: 'entry' | 'producer' | 'seal' | 'text';
      readonly fields: Readonly<Record<string, string | number | null>>;
    };

export interface DumpedBatch {
  readonly position: number;
  readonly sizeInBytes: number;
  readonly header: BatchHeader;
  readonly crcMatches: boolean;
}

export type DumpedRecord = DecodedRecord;

/** @param path absolute. Throws INVALID_ARGUMENT when it is nothing of a log. */
export async function* dumpPath(
  disk: Disk,
  path: string,
  options: DumpOptions = {},
): AsyncGenerator<DumpLine> {
  const target = inspectedPath(disk, path);
  const segments = segmentsOf(disk, target);
  if (!segments) {
    yield* dumpFile(disk, target as InspectedPath & { readonly path: string });
    return;
  }
  let left = options.limit ?? Infinity;
  for (const [i, { directory, baseOffset }] of segments.entries()) {
    const next = segments[i + 1];
    const from = options.offset ?? 0;
    if (left <= 0) return;
    if (next && next.directory === directory && next.baseOffset <= from) continue;
    const { log } = segmentPaths(directory, baseOffset);
    yield { type: 'file', path: log };
    for await (const step of segmentSteps(disk, log)) {
      if (step.kind === 'batch' && step.header.lastOffset < from) continue;
      yield* linesOf(step, options);
      left -= 1;
      if (left <= 0) return;
    }
  }
}

function segmentsOf(
  disk: Disk,
  target: InspectedPath,
): { readonly directory: string; readonly baseOffset: number }[] | undefined {
  switch (target.kind) {
    case 'text-file':
      return undefined;
    case 'segment-file':
      return target.file === 'log' ? [target] : undefined;
    case 'partition':
      return inDirectory(disk, target.directory);
    case 'log-directory':
      return disk
        .list(target.directory)
        .map((name) => `${target.directory}/${name}`)
        .filter((path) => disk.isDirectory(path))
        .flatMap((path) => inDirectory(disk, path));
  }
}

function inDirectory(disk: Disk, directory: string) {
  const { baseOffsets } = findSegments(disk.list(directory));
  return baseOffsets.map((baseOffset) => ({ directory, baseOffset }));
}

async function* segmentSteps(disk: Disk, path: string): AsyncGenerator<WalkStep> {
  const file = openIfThere(disk, path);
  if (!file) return;
  try {
    yield* walkBatches(file);
  } finally {
    file.close();
  }
}

function* linesOf(step: WalkStep, options: DumpOptions): Generator<DumpLine> {
  const { position } = step;
  if (step.kind === 'torn') {
    const problem = `the file ends ${step.bytesLeft} bytes into a batch`;
    yield { type: 'broken', position, problem };
    return;
  }
  if (step.kind === 'broken') {
    yield { type: 'broken', position: step.faultAt, problem: step.problem };
    return;
  }
  const { header, crcMatches, bytes } = step;
  yield { type: 'batch', position, sizeInBytes: bytes.length, header, crcMatches };
  if (!options.records || !crcMatches) return;
  try {
    for (const record of decodeBatch(bytes, { checkCrc: false })) {
      yield { type: 'record', ...record };
    }
  } catch (error) {
    yield { type: 'broken', position, problem: TributaryError.from(error).message };
  }
}

function* dumpFile(
  disk: Disk,
  target: InspectedPath & { readonly path: string },
): Generator<DumpLine> {
  const { path } = target;
  const bytes = readIfThere(disk, path) ?? Buffer.alloc(0);
  yield { type: 'file', path };
  const file = target.kind === 'segment-file' ? target.file : 'text';
  const baseOffset = target.kind === 'segment-file' ? target.baseOffset : 0;
  switch (file) {
    case 'index':
      for (let at = 0; at + 8 <= bytes.length; at += 8) {
        const lastOffset = baseOffset + bytes.readInt32BE(at);
        yield { type: 'entry', fields: { lastOffset, position: bytes.readInt32BE(at + 4) } };
      }
      return;
    case 'timeindex':
      for (let at = 0; at + 12 <= bytes.length; at += 12) {
        const timestamp = Number(bytes.readBigInt64BE(at));
        yield {
          type: 'entry',
          fields: { timestamp, offset: baseOffset + bytes.readInt32BE(at + 8) },
        };
      }
      return;
    case 'snapshot':
      yield* dumpSnapshot(bytes);
      return;
    case 'seal':
      yield* dumpSeal(bytes, path);
      return;
    default:
      for (const text of bytes.toString().split('\n').slice(0, -1)) {
        yield { type: 'text', fields: { text } };
      }
  }
}

function* dumpSnapshot(bytes: Buffer): Generator<DumpLine> {
  const states = decodeSnapshot(bytes);
  if (!states) {
    yield { type: 'broken', position: 0, problem: 'the snapshot fails its CRC or is not whole' };
    return;
  }
  for (const { producerId, producerEpoch, batches } of states.entries) {
    for (const batch of batches) {
      yield { type: 'producer', fields: { producerId, producerEpoch, ...batch } };
    }
  }
}

/** Throws CORRUPT_LOG. */
function* dumpSeal(bytes: Buffer, path: string): Generator<DumpLine> {
  const seal = decodeSeal(bytes, path);
  const { baseOffset, nextOffset, logBytes, sealedAt, maxTimestamp } = seal;
  yield {
    type: 'seal',
    fields: { baseOffset, nextOffset, logBytes, sealedAt, maxTimestamp: maxTimestamp?.timestamp ?? null }, // prettier-ignore
  };
  for (const { epoch, startOffset } of seal.epochs) {
    yield { type: 'entry', fields: { epoch, startOffset } };
  }
  for (const interval of intervalsOf(seal)) yield { type: 'entry', fields: { ...interval } };
}
