/**
 * What offset and time index have in common: rising entries of fixed width, kept in memory while a segment
 * is written or in use, appended to their file when it is sealed. An index holds nothing that its segment
 * does not say too: a file that is missing, or is not the one that the seal vouches for, is rebuilt.
 */
import { assert } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { Disk } from './disk';
import type { FileSum } from './segment-seal';

const FIRST_ENTRIES = 4;

export abstract class SparseIndex {
  /** undefined: only in the file. */
  private loaded: Buffer | undefined = Buffer.alloc(0);
  private entries = 0;
  /** So many entries of ours are at the start of the file; more may follow there, which are not. */
  private persisted = 0;
  private current = false;

  protected constructor(
    private readonly disk: Disk,
    private currentPath: string,
    private readonly entryBytes: number,
  ) {}

  get path(): string {
    return this.currentPath;
  }

  /** Also when it is not loaded. */
  get count(): number {
    return this.entries;
  }

  /** The file holds exactly our entries. */
  get isPersisted(): boolean {
    return this.current;
  }

  get isLoaded(): boolean {
    return this.loaded !== undefined;
  }

  /** Empty, whatever the file holds. */
  reset(): void {
    this.loaded = Buffer.alloc(0);
    this.entries = 0;
    this.persisted = 0;
    this.current = false;
  }

  get byteLength(): number {
    return this.entries * this.entryBytes;
  }

  /** Of all entries. Only while loaded. */
  get sum(): FileSum {
    const bytes = this.bytes.subarray(0, this.entries * this.entryBytes);
    return { bytes: bytes.length, crc: crc32c(bytes) };
  }

  get memoryBytes(): number {
    return this.loaded?.length ?? 0;
  }

  /** Not in memory, and in the file as `sum` says. */
  assumeStored(sum: FileSum): void {
    this.loaded = undefined;
    this.entries = this.persisted = sum.bytes / this.entryBytes;
    this.current = true;
  }

  /** Reads the file. False: it is missing or not this one, and the index is empty now. */
  load(expected: FileSum): boolean {
    const bytes = this.readFile();
    this.reset();
    if (bytes?.length !== expected.bytes || crc32c(bytes) !== expected.crc) return false;
    this.loaded = bytes;
    this.entries = this.persisted = bytes.length / this.entryBytes;
    this.current = true;
    return true;
  }

  rename(path: string): void {
    this.disk.rename(this.currentPath, path);
    this.currentPath = path;
  }

  /** Brings the file up to date. Throws DISK_FULL or STORAGE_ERROR. */
  persist(): void {
    if (this.current) return;
    const file = this.disk.openFile(this.path, { create: true });
    try {
      file.truncate(Math.min(file.size, this.persisted * this.entryBytes));
      file.append([this.bytes.subarray(file.size, this.entries * this.entryBytes)]);
      this.persisted = this.entries;
      this.current = true;
    } finally {
      file.close();
    }
  }

  protected get bytes(): Buffer {
    assert(this.loaded, `index ${this.currentPath} is not loaded`);
    return this.loaded;
  }

  /** Where to write one more entry. */
  protected extend(): number {
    const at = this.entries * this.entryBytes;
    if (at + this.entryBytes > this.bytes.length) {
      const bigger = Buffer.alloc(Math.max(this.bytes.length * 2, FIRST_ENTRIES * this.entryBytes));
      this.bytes.copy(bigger, 0, 0, at);
      this.loaded = bigger;
    }
    this.entries += 1;
    this.current = false;
    return at;
  }

  /** The first `count` entries stay. */
  keep(count: number): void {
    if (count >= this.entries) return;
    this.entries = count;
    this.persisted = Math.min(this.persisted, count);
    this.current = false;
  }

  /** How many leading entries satisfy `holds`, which is true for a prefix. */
  protected countWhile(holds: (i: number) => boolean): number {
    let low = 0;
    let high = this.entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private readFile(): Buffer | undefined {
    if (!this.disk.exists(this.path)) return undefined;
    const file = this.disk.openFile(this.path);
    try {
      return file.read(0, file.size);
    } finally {
      file.close();
    }
  }
}
