/** A disk that is as slow or as full as the faults of the moment say. Used by `faulty-broker.ts`. */
import { setTimeout as pause } from 'node:timers/promises';
import { TributaryError } from '@tributary/common';
import type { DirectoryLock, Disk, DiskFile, OpenOptions } from '@tributary/log';
import type { BrokerFaults } from './faults';

/** Stops the whole process for so long, as a synchronous call into a slow device does. */
function block(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function refuseWhenFull(faults: BrokerFaults, path: string): void {
  if (!faults.diskFull) return;
  throw new TributaryError('DISK_FULL', `${path}: the disk is full, by order`, {
    details: { path },
  });
}

export class FaultyDisk implements Disk {
  constructor(
    private readonly disk: Disk,
    private readonly faults: () => BrokerFaults,
  ) {}

  openFile(path: string, options?: OpenOptions): DiskFile {
    if (options?.create && !this.disk.exists(path)) refuseWhenFull(this.faults(), path);
    return new FaultyFile(this.disk.openFile(path, options), this.faults);
  }

  exists(path: string): boolean {
    return this.disk.exists(path);
  }

  fileSize(path: string): number {
    return this.disk.fileSize(path);
  }

  list(directory: string): string[] {
    return this.disk.list(directory);
  }

  isDirectory(path: string): boolean {
    return this.disk.isDirectory(path);
  }

  makeDirectory(path: string): void {
    if (!this.disk.exists(path)) refuseWhenFull(this.faults(), path);
    this.disk.makeDirectory(path);
  }

  rename(from: string, to: string): void {
    this.disk.rename(from, to);
  }

  remove(path: string): void {
    this.disk.remove(path);
  }

  async removeAsync(path: string): Promise<void> {
    await this.disk.removeAsync(path);
  }

  async syncDirectory(directory: string): Promise<void> {
    await pause(this.faults().syncDelayMs);
    await this.disk.syncDirectory(directory);
  }

  lockDirectory(directory: string): DirectoryLock {
    return this.disk.lockDirectory(directory);
  }

  freeBytes(path: string): number {
    return this.faults().diskFull ? 0 : this.disk.freeBytes(path);
  }

  bootId(): string | undefined {
    return this.disk.bootId();
  }
}

class FaultyFile implements DiskFile {
  constructor(
    private readonly file: DiskFile,
    private readonly faults: () => BrokerFaults,
  ) {}

  get path(): string {
    return this.file.path;
  }

  get size(): number {
    return this.file.size;
  }

  append(buffers: readonly Buffer[]): void {
    refuseWhenFull(this.faults(), this.path);
    block(this.faults().appendDelayMs);
    this.file.append(buffers);
  }

  writeAt(position: number, bytes: Buffer): void {
    this.file.writeAt(position, bytes);
  }

  read(position: number, length: number): Buffer {
    return this.file.read(position, length);
  }

  async readAsync(position: number, length: number, into?: Buffer): Promise<Buffer> {
    await pause(this.faults().readDelayMs);
    return this.file.readAsync(position, length, into);
  }

  truncate(size: number): void {
    this.file.truncate(size);
  }

  async datasync(): Promise<void> {
    await pause(this.faults().syncDelayMs);
    await this.file.datasync();
  }

  close(): void {
    this.file.close();
  }
}
