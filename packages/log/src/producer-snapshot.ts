/**
 * Producer states on disk: `<next offset, 20 digits>.snapshot`, Kafka's layout: version i16, CRC-32C u32 of
 * what follows, count i32, then per batch producer id i64, epoch i16, last sequence i32, last offset i64,
 * offset delta i32, timestamp i64, coordinator epoch i32, first offset of the open transaction i64. A
 * producer has one entry per remembered batch, oldest first, so that readers that want one get the last.
 * A snapshot only saves reading the log: one that does not check is as good as none.
 */
import { hasCode } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { Disk } from './disk';
import { baseSequenceOf, ProducerStates, type ProducerLimits } from './producer-states';
import { segmentName } from './segment';

const VERSION = 1;
const HEADER_BYTES = 10;
const CRC_AT = 2;
const CRC_FROM = 6;
const ENTRY_BYTES = 46;
const NO_COORDINATOR_EPOCH = -1;
const NO_TRANSACTION = -1n;

const SNAPSHOT_FILE = /^([0-9]{20})\.snapshot$/;

export function snapshotPath(directory: string, offset: number): string {
  return `${directory}/${segmentName(offset)}.snapshot`;
}

/** Offsets of the snapshots among these names, rising. */
export function findSnapshots(names: readonly string[]): number[] {
  return names
    .map((name) => SNAPSHOT_FILE.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

export function encodeSnapshot(states: ProducerStates): Buffer {
  const rows = [...states.entries].flatMap((entry) =>
    entry.batches.map((batch) => ({ entry, batch })),
  );
  const bytes = Buffer.alloc(HEADER_BYTES + rows.length * ENTRY_BYTES);
  bytes.writeInt16BE(VERSION, 0);
  bytes.writeInt32BE(rows.length, CRC_FROM);
  let at = HEADER_BYTES;
  for (const { entry, batch } of rows) {
    bytes.writeBigInt64BE(BigInt(entry.producerId), at);
    bytes.writeInt16BE(entry.producerEpoch, at + 8);
    bytes.writeInt32BE(batch.lastSequence, at + 10);
    bytes.writeBigInt64BE(BigInt(batch.lastOffset), at + 14);
    bytes.writeInt32BE(batch.lastOffset - batch.baseOffset, at + 22);
    bytes.writeBigInt64BE(BigInt(batch.timestamp), at + 26);
    bytes.writeInt32BE(NO_COORDINATOR_EPOCH, at + 34);
    bytes.writeBigInt64BE(NO_TRANSACTION, at + 38);
    at += ENTRY_BYTES;
  }
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT);
  return bytes;
}

/** undefined: not whole, or of another version. */
export function decodeSnapshot(bytes: Buffer, limits?: ProducerLimits): ProducerStates | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readInt16BE(0) !== VERSION) return undefined;
  if (bytes.readUInt32BE(CRC_AT) !== crc32c(bytes.subarray(CRC_FROM))) return undefined;
  if (bytes.length !== HEADER_BYTES + bytes.readInt32BE(CRC_FROM) * ENTRY_BYTES) return undefined;
  const states = new ProducerStates(limits);
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    const lastSequence = bytes.readInt32BE(at + 10);
    const lastOffset = Number(bytes.readBigInt64BE(at + 14));
    const lastOffsetDelta = bytes.readInt32BE(at + 22);
    states.put(Number(bytes.readBigInt64BE(at)), bytes.readInt16BE(at + 8), {
      baseSequence: baseSequenceOf(lastSequence, lastOffsetDelta),
      lastSequence,
      baseOffset: lastOffset - lastOffsetDelta,
      lastOffset,
      timestamp: Number(bytes.readBigInt64BE(at + 26)),
    });
  }
  return states;
}

/** Not synced: the CRC tells whether it reached the device. */
export function writeSnapshot(disk: Disk, path: string, states: ProducerStates): void {
  const file = disk.openFile(path, { create: true });
  try {
    file.truncate(0);
    file.append([encodeSnapshot(states)]);
  } finally {
    file.close();
  }
}

/** Saves reading what lies before it, and is all that is known of it once that is deleted. On a full disk: none. */
export function keepSnapshot(
  disk: Disk,
  directory: string,
  { offset, states }: { readonly offset: number; readonly states: ProducerStates },
): void {
  const path = snapshotPath(directory, offset);
  try {
    writeSnapshot(disk, path, states);
  } catch (error) {
    if (!hasCode(error, 'DISK_FULL')) throw error;
    disk.remove(path);
  }
}

export function readSnapshot(
  disk: Disk,
  path: string,
  limits?: ProducerLimits,
): ProducerStates | undefined {
  const file = disk.openFile(path);
  try {
    return decodeSnapshot(file.read(0, file.size), limits);
  } finally {
    file.close();
  }
}

/** The newest one that checks, at `upTo` at most; those that do not, and are newer, are removed. */
export function newestSnapshot(
  disk: Disk,
  directory: string,
  limits: ProducerLimits | undefined,
  upTo = Infinity,
): { readonly offset: number; readonly states: ProducerStates } | undefined {
  const found = findSnapshots(disk.list(directory)).filter((offset) => offset <= upTo);
  for (const offset of found.reverse()) {
    const path = snapshotPath(directory, offset);
    const states = readSnapshot(disk, path, limits);
    if (states) return { offset, states };
    disk.remove(path);
  }
  return undefined;
}

export function removeSnapshotsAbove(disk: Disk, directory: string, offset: number): void {
  for (const found of findSnapshots(disk.list(directory))) {
    if (found > offset) disk.remove(snapshotPath(directory, found));
  }
}
