/**
 * Compares producer snapshots with what the batches before them give. A snapshot may know more than the log still holds
 * (deleted and compacted batches) and less (producers that expired); where both know a producer's last batch,
 * it must be the same. Called by the log chain.
 */
import { crc32c, type BatchHeader } from '@tributary/record';
import type { Disk } from '../disk';
import { decodeSnapshot, findSnapshots, snapshotPath } from '../producer-snapshot';
import { ProducerStates, type ProducedBatch } from '../producer-states';
import { readIfThere } from './read-whole';
import { findWrongByte, isWrongSum } from './wrong-byte';
import { MEANING, type InspectionReport } from './report';

const CRC_AT = 2;
const CRC_FROM = 6;

interface Snapshot {
  readonly offset: number;
  readonly path: string;
  readonly states: ProducerStates;
}

export class SnapshotCheck {
  private readonly waiting: Snapshot[] = [];
  private readonly rebuilt = new ProducerStates();
  private isInterrupted = false;
  private nextOffset: number | undefined;
  /** Compaction has taken batches out. */
  private hasGaps = false;

  constructor(
    disk: Disk,
    directory: string,
    private readonly report: InspectionReport,
  ) {
    for (const offset of findSnapshots(disk.list(directory))) {
      const path = snapshotPath(directory, offset);
      const states = readSnapshotChecked(disk, path, report);
      if (states) this.waiting.push({ offset, path, states });
    }
  }

  onBatch(header: BatchHeader): void {
    this.compareUpTo(header.baseOffset);
    this.hasGaps ||= header.baseOffset > (this.nextOffset ?? header.baseOffset);
    this.nextOffset = header.lastOffset + 1;
    this.rebuilt.record(header);
  }

  /** Batches are missing from here on: nothing can be compared any more. */
  interrupt(): void {
    this.isInterrupted = true;
  }

  finish(nextOffset: number): void {
    this.compareUpTo(nextOffset);
  }

  private compareUpTo(offset: number): void {
    while (this.waiting[0] && this.waiting[0].offset <= offset) {
      const snapshot = this.waiting.shift() as Snapshot;
      if (!this.isInterrupted) this.compare(snapshot);
    }
  }

  private compare({ path, states }: Snapshot): void {
    const lastOf = new Map<number, ProducedBatch | undefined>();
    for (const { producerId, batches } of this.rebuilt.entries) {
      lastOf.set(producerId, batches.at(-1));
    }
    for (const { producerId, batches } of states.entries) {
      const [told, found] = [batches.at(-1), lastOf.get(producerId)];
      if (!told || !found || isSame(told, found)) continue;
      if (this.hasGaps && told.lastOffset > found.lastOffset) continue;
      this.report.damage({
        path,
        problem: `it says that producer ${producerId} wrote last ${describe(told)}, the log says ${describe(found)}`,
        meaning: MEANING.snapshot,
      });
      return;
    }
  }
}

/** Its bytes alone. undefined: it does not check, which is told, or it went meanwhile. */
export function readSnapshotChecked(
  disk: Disk,
  path: string,
  report: InspectionReport,
): ProducerStates | undefined {
  const bytes = readIfThere(disk, path);
  if (!bytes) return undefined;
  const states = decodeSnapshot(bytes);
  if (states) return states;
  report.damage({ path, ...snapshotProblem(bytes), meaning: MEANING.snapshot });
  return undefined;
}

function snapshotProblem(bytes: Buffer): { problem: string; position: number } {
  if (bytes.length < CRC_FROM + 4) return { problem: 'it is cut off', position: bytes.length };
  const stored = bytes.readUInt32BE(CRC_AT);
  const body = bytes.subarray(CRC_FROM);
  if (crc32c(body) === stored) {
    const version = bytes.readInt16BE(0);
    return { problem: `it has version ${version}, or not as many entries as it says`, position: 0 };
  }
  if (isWrongSum(body, stored)) return { problem: 'its CRC changed', position: CRC_AT };
  const wrong = findWrongByte(body, stored);
  return { problem: 'it fails its CRC', position: CRC_FROM + (wrong?.position ?? 0) };
}

function isSame(a: ProducedBatch, b: ProducedBatch): boolean {
  return a.lastOffset === b.lastOffset && a.lastSequence === b.lastSequence;
}

function describe({ lastOffset, lastSequence }: ProducedBatch): string {
  return `sequence ${lastSequence} at offset ${lastOffset}`;
}
