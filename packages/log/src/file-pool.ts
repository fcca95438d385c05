/**
 * Files that are open only while they are in use: a directory with thousands of segments holds a bounded number of
 * descriptors, those used last. Invariants: a file is never closed under an operation of the thread pool, and such
 * operations wait for their turn when there are too many; its size is known without opening it. What was
 * written but not synced is closed only when nothing else is left to close: whoever holds a descriptor hears of a
 * write that failed later, on its way to the device. Called by segments and indexes.
 */
import { TributaryError } from '@tributary/common';
import type { Disk, DiskFile } from './disk';

/**
 * Descriptors of one log directory, of the usual 1,024 and more that a process may have. A partition that is written to
 * has three in use: with more of those than fit, each append opens and closes files.
 */
export const OPEN_FILES_MAX = 800;

export class FilePool {
  /** Open ones, the one used last at the end. */
  private readonly open = new Set<PooledFile>();
  private latest: PooledFile | undefined;
  /** Files in the thread pool, and who waits for there being fewer. */
  private busyFiles = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    readonly disk: Disk,
    private readonly openFilesMax = OPEN_FILES_MAX,
  ) {}

  get openFiles(): number {
    return this.open.size;
  }

  /** The file at `path`, which is there. Throws STORAGE_ERROR otherwise. */
  file(path: string): PooledFile {
    return new PooledFile(this, path, this.disk.fileSize(path));
  }

  /** An empty file, also when there is one already. */
  create(path: string): PooledFile {
    const file = new PooledFile(this, path, 0);
    file.truncate(0);
    return file;
  }

  /** For PooledFile: it is about to be used. */
  used(file: PooledFile): void {
    if (file === this.latest) return;
    this.latest = file;
    if (!this.open.delete(file)) this.makeRoom();
    this.open.add(file);
  }

  /** For PooledFile. */
  closed(file: PooledFile): void {
    this.open.delete(file);
    if (file === this.latest) this.latest = undefined;
  }

  /** For PooledFile: undefined when another file may go into the thread pool, or else wait and ask again. */
  turn(): Promise<void> | undefined {
    if (this.busyFiles < this.openFilesMax) return undefined;
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** For PooledFile. */
  becameBusy(): void {
    this.busyFiles += 1;
  }

  /** For PooledFile: whose turn it is does not use it. */
  passTurn(): void {
    this.waiting.shift()?.();
  }

  /** For PooledFile. */
  becameIdle(): void {
    this.busyFiles -= 1;
    this.passTurn();
    if (this.open.size > this.openFilesMax) this.closeOne();
  }

  private makeRoom(): void {
    if (this.open.size >= this.openFilesMax) this.closeOne();
  }

  private closeOne(): void {
    let unsynced: PooledFile | undefined;
    for (const file of this.open) {
      if (file.isBusy) continue;
      if (!file.isUnsynced) return file.release();
      unsynced ??= file;
    }
    unsynced?.release();
  }
}

export class PooledFile implements DiskFile {
  private descriptor: DiskFile | undefined;
  private isClosed = false;
  private busy = 0;
  /** Counts writes, so that a sync knows whether it covered the last one. */
  private writes = 0;
  private synced = 0;

  constructor(
    private readonly pool: FilePool,
    private currentPath: string,
    private bytes: number,
  ) {}

  get path(): string {
    return this.currentPath;
  }

  get size(): number {
    return this.bytes;
  }

  /** In the thread pool. */
  get isBusy(): boolean {
    return this.busy > 0;
  }

  get isUnsynced(): boolean {
    return this.synced < this.writes;
  }

  append(buffers: readonly Buffer[]): void {
    this.change((file) => file.append(buffers));
  }

  writeAt(position: number, bytes: Buffer): void {
    this.change((file) => file.writeAt(position, bytes));
  }

  truncate(size: number): void {
    this.change((file) => file.truncate(size));
  }

  read(position: number, length: number): Buffer {
    return this.use().read(position, length);
  }

  readAsync(position: number, length: number, into?: Buffer): Promise<Buffer> {
    return this.whileOpen((file) => file.readAsync(position, length, into));
  }

  async datasync(): Promise<void> {
    let { writes } = this;
    await this.whileOpen((file) => {
      ({ writes } = this);
      return file.datasync();
    });
    this.synced = Math.max(this.synced, writes);
  }

  /** Gives it another name, in the same file system; stays usable. */
  rename(path: string): void {
    this.pool.disk.rename(this.currentPath, path);
    this.currentPath = path;
  }

  close(): void {
    this.isClosed = true;
    this.release();
  }

  /** For the pool: closed until it is used again. */
  release(): void {
    const { descriptor } = this;
    this.descriptor = undefined;
    this.pool.closed(this);
    descriptor?.close();
  }

  private change(work: (file: DiskFile) => void): void {
    const file = this.use();
    this.writes += 1;
    try {
      work(file);
    } finally {
      this.bytes = file.size;
    }
  }

  private async whileOpen<T>(work: (file: DiskFile) => Promise<T>): Promise<T> {
    let turn: Promise<void> | undefined;
    while (this.busy === 0 && (turn = this.pool.turn())) await turn;
    let file: DiskFile;
    try {
      file = this.use();
    } catch (error) {
      if (this.busy === 0) this.pool.passTurn();
      throw error;
    }
    if (this.busy === 0) this.pool.becameBusy();
    this.busy += 1;
    try {
      return await work(file);
    } finally {
      this.busy -= 1;
      if (this.busy === 0) this.pool.becameIdle();
    }
  }

  private use(): DiskFile {
    if (this.isClosed) throw new TributaryError('CLOSED', `${this.currentPath} is closed`);
    this.pool.used(this);
    if (this.descriptor) return this.descriptor;
    try {
      this.descriptor = this.pool.disk.openFile(this.currentPath, { create: this.bytes === 0 });
    } catch (error) {
      this.pool.closed(this);
      throw error;
    }
    return this.descriptor;
  }
}
