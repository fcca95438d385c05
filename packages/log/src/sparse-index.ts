/**
 * What offset and time index have in common: rising entries of fixed width, kept in memory while a segment
 * is written or in use, appended to their file when it is sealed. An index holds nothing that its segment
 * does not say too: one that is missing or does not check is rebuilt, so it needs no sync of its own
 * before the segment counts as flushed.
 */
import { assert } from '@tributary/common';
import type { Disk } from './disk';

const FIRST_ENTRIES = 64;

export abstract class SparseIndex {
  /** undefined: only in the file. */
  private loaded: Buffer | undefined = Buffer.alloc(0);
  private entries = 0;
  /** So many entries of ours are at the start of the file; more may follow there, which are not. */
  private persisted = 0;
  private current = false;

  protected constructor(
    private readonly disk: Disk,
    readonly path: string,
    private readonly entryBytes: number,
  ) {}

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

  /** Reads the file. False: it is missing or damaged, and the index is empty now. */
  load(): boolean {
    const bytes = this.readFile();
    if (!bytes || bytes.length % this.entryBytes !== 0) {
      this.reset();
      return false;
    }
    this.loaded = bytes;
    this.entries = this.persisted = bytes.length / this.entryBytes;
    this.current = true;
    for (let i = 0; i < this.entries; i += 1) {
      if (!this.rises(i)) {
        this.reset();
        return false;
      }
    }
    return true;
  }

  /** Frees the memory, if the file has it all. */
  unload(): void {
    if (this.current) this.loaded = undefined;
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

  async sync(): Promise<void> {
    const file = this.disk.openFile(this.path);
    try {
      await file.datasync();
    } finally {
      file.close();
    }
  }

  /** Is entry `i` above the one before it? */
  protected abstract rises(i: number): boolean;

  protected get bytes(): Buffer {
    assert(this.loaded, `index ${this.path} is not loaded`);
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

  protected keep(count: number): void {
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
