/**
 * `offset-gaps`: up to which offset a batch of this log may begin behind the end of the one before it, as compaction makes
 * them. Without that, and above it, a batch begins where the one before ended, or its header is damaged: no CRC covers
 * the base offset, and no seal the last segment of a log that was not closed.
 *
 * Invariant: no batch with a gap before it lies above the bound, in the page cache and on the device: the file is written
 * before the batch, and synced before the recovery point passes it (see LogFlusher). A file that is damaged, or empty (of
 * an earlier version), bounds nothing. In place and of one size: a follower that copies a compacted log writes it
 * with every piece. Called by the files of a log, its repair and its inspection.
 */
import type { Disk } from './disk';
import { sumOf } from './content-sums';
import { DurableTextFile, readTextFile } from './durable-text-file';

/**
 * Its presence says that somewhere in this log offsets are left out, as compaction does. Without it, a batch whose base
 * offset is not the end of the one before it has a damaged header.
 */
export const GAPS_FILE = 'offset-gaps';
const NO_GAPS = -1;
const DIGITS = 20;

export class OffsetGaps {
  /** What lies there is not on the device. */
  isDirty = false;

  private constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private bound: number,
  ) {}

  static read(disk: Disk, directory: string): OffsetGaps {
    const path = `${directory}/${GAPS_FILE}`;
    return new OffsetGaps(disk, path, gapsUpTo(readTextFile(disk, path)) ?? Infinity);
  }

  /** May a batch that begins here leave a gap before it? */
  allows(baseOffset: number): boolean {
    return baseOffset <= this.bound;
  }

  /** Before such a batch is written. */
  raise(baseOffset: number): void {
    if (this.allows(baseOffset)) return;
    this.write(baseOffset);
  }

  /** No batch begins at `offset` or behind it any more. */
  lower(offset: number): void {
    if (this.bound <= offset || this.bound === Infinity) return;
    this.write(offset);
  }

  private write(bound: number): void {
    const file = this.disk.openFile(this.path, { create: true });
    try {
      const bytes = Buffer.from(format(bound));
      if (file.size === bytes.length) file.writeAt(0, bytes);
      else {
        file.truncate(0);
        file.append([bytes]);
      }
    } finally {
      file.close();
    }
    this.bound = bound;
    this.isDirty = true;
  }
}

/** A repair found them where none, or no higher ones, were known. Durable when it resolves. */
export async function keepGaps(disk: Disk, directory: string, found: number): Promise<void> {
  const path = `${directory}/${GAPS_FILE}`;
  const text = readTextFile(disk, path);
  const known = text === '' ? Infinity : (gapsUpTo(text) ?? NO_GAPS);
  if (found <= known) return;
  await new DurableTextFile(disk, path).write(format(found));
}

/** -1: there are none. undefined: it does not tell, any offset may be. */
export function gapsUpTo(text: string | undefined): number | undefined {
  if (text === undefined) return NO_GAPS;
  const [, digits, sum] = /^([0-9]{20})\n([0-9a-f]{8})\n$/.exec(text) ?? [];
  return digits !== undefined && sum === sumOf(digits) ? Number(digits) : undefined;
}

function format(bound: number): string {
  const digits = String(bound).padStart(DIGITS, '0');
  return `${digits}\n${sumOf(digits)}\n`;
}
