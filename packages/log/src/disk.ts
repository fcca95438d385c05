/**
 * The Disk port: all that the log does to files. Two implementations: NodeDisk (node:fs) and the simulated
 * disk (testkit), which can lose or tear what was not synced. Paths are absolute, '/'-separated.
 *
 * Appends and reads are synchronous on purpose: a batch is appended without an `await` in between, so no
 * other event can see half of it, and on a hot page cache it is several times cheaper than a thread-pool
 * hop. What waits for the device (datasync, syncDirectory) is asynchronous.
 *
 * Errors: DISK_FULL (ENOSPC, EDQUOT), DATA_DIR_NOT_WRITABLE (EACCES, EPERM, EROFS), DATA_DIR_LOCKED,
 * STORAGE_ERROR for everything else, each with `details.path`.
 */
export interface Disk {
  /**
   * Opens for reading and writing; creates an empty file when there is none and `create` is set, readable
   * by its owner alone when `ownerOnly` is set too. Throws STORAGE_ERROR when there is none and it is not.
   */
  openFile(path: string, options?: OpenOptions): DiskFile;
  exists(path: string): boolean;
  /** Bytes of a file, without opening it. Throws STORAGE_ERROR when there is none. */
  fileSize(path: string): number;
  /** Names (not paths) in a directory, sorted; [] when it does not exist. */
  list(directory: string): string[];
  isDirectory(path: string): boolean;
  /** With parents. */
  makeDirectory(path: string): void;
  /** Atomic within one file system; replaces a file at `to`. Durable only after syncDirectory of the parent(s). */
  rename(from: string, to: string): void;
  /** A file, or a directory with all that is in it. No error when it does not exist. */
  remove(path: string): void;
  /** As `remove`, through the thread pool: for what has many files, or large ones. Not atomic. */
  removeAsync(path: string): Promise<void>;
  /** Makes creations, renames and removals in this directory durable. */
  syncDirectory(directory: string): Promise<void>;
  /**
   * Takes the exclusive lock of a directory for as long as this process lives or until `unlock`. Throws
   * DATA_DIR_LOCKED naming the owner's pid; a lock left by a dead process is taken over.
   */
  lockDirectory(directory: string): DirectoryLock;
  /** Free bytes on the file system of this path, for metrics and health. */
  freeBytes(path: string): number;
  /** The same as long as the machine has not been started again, when what was not synced is gone. undefined: not known. */
  bootId(): string | undefined;
}

export interface OpenOptions {
  readonly create?: boolean;
  /** Mode 0600 for a file that this call creates. */
  readonly ownerOnly?: boolean;
  /** Writes are refused then, and no right to write is needed. Not with `create`. */
  readonly readOnly?: boolean;
}

export interface DirectoryLock {
  unlock(): void;
}

export interface DiskFile {
  readonly path: string;
  readonly size: number;
  /** Writes all buffers at the end. A failed append may have written a part: the caller truncates back. */
  append(buffers: readonly Buffer[]): void;
  /** Overwrites within the file; never beyond its end. */
  writeAt(position: number, bytes: Buffer): void;
  /** Up to `length` bytes, fewer only at the end of the file. */
  read(position: number, length: number): Buffer;
  /**
   * As `read`, through the thread pool: for cold and large ranges.
   * @param into at least `length` bytes, not touched otherwise meanwhile; the result is a part of it
   */
  readAsync(position: number, length: number, into?: Buffer): Promise<Buffer>;
  truncate(size: number): void;
  /** Resolves once everything written before the call is on the device. */
  datasync(): Promise<void>;
  /** Idempotent. */
  close(): void;
}
