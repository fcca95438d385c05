/**
 * A text file in a format of Kafka's that leaves no room for a checksum: a companion `<file>.crc` holds it. Invariant:
 * the companion names every content that the file may have after a crash (the new one and the one before), because
 * it is on the device before the file is renamed; so what it does not name was changed behind our back. A file
 * without companion (older versions, Kafka) is believed. Called for the checkpoints of a log directory.
 */
import { TributaryError } from '@tributary/common';
import { CONTENTS_MAX, formatSums, parseSums, SUMS_SUFFIX, sumOf } from './content-sums';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';
import { MergedWrites } from './merged-writes';

export class ChecksummedTextFile {
  private readonly main: DurableTextFile;
  private readonly companion: DurableTextFile;
  /** Of the contents that the file may have on the device; undefined: not looked at yet. */
  private sums: readonly string[] | undefined;
  private readonly writes = new MergedWrites((text) => this.persist(text));

  constructor(disk: Disk, path: string) {
    this.main = new DurableTextFile(disk, path);
    this.companion = new DurableTextFile(disk, `${path}${SUMS_SUFFIX}`);
  }

  get path(): string {
    return this.main.path;
  }

  /** undefined: there is none. Throws CORRUPT_LOG when a byte changed. */
  read(): string | undefined {
    const text = this.main.read();
    this.sums = [];
    if (text === undefined) return undefined;
    const expected = this.companion.read();
    if (expected !== undefined && !parseSums(expected).includes(sumOf(text))) {
      throw new TributaryError('CORRUPT_LOG', `${this.path}: its checksum does not match`, {
        details: { path: this.path },
      });
    }
    this.sums = [sumOf(text)];
    return text;
  }

  /** Durable when it resolves, unless a newer text took its place meanwhile: then that one is. */
  write(text: string): Promise<void> {
    return this.writes.write(text);
  }

  private async persist(text: string): Promise<boolean> {
    const sum = sumOf(text);
    this.sums = [sum, ...this.possible()].slice(0, CONTENTS_MAX);
    await this.companion.write(formatSums(this.sums));
    await this.main.write(text);
    this.sums = [sum];
    return true;
  }

  private possible(): readonly string[] {
    if (this.sums) return this.sums;
    try {
      this.read();
    } catch {
      return []; // damaged: it must stay known as that until the new one is in place
    }
    return this.sums ?? [];
  }
}
