/**
 * One open file. Invariant: `size` is the file's real size, also after a failed append, because every write
 * goes through this object. The descriptor is closed only when no thread-pool call uses it any more: a
 * number that the system has given to another file meanwhile must never be read or synced.
 */
import * as fs from 'node:fs';
import { TributaryError } from '@tributary/common';
import type { DiskFile } from '../disk';
import type { SyncSlots } from '../sync-slots';
import type { DeviceSlots, DeviceSlotsTable } from './node-disk-device';
import { diskError, onDisk } from './node-disk-error';

export class NodeDiskFile implements DiskFile {
  private end: number;
  private closed = false;
  private inThreadPool = 0;
  private readonly slots: DeviceSlots;

  constructor(
    readonly path: string,
    private readonly descriptor: number,
    devices: DeviceSlotsTable,
  ) {
    const { size, dev } = fs.fstatSync(descriptor);
    this.end = size;
    this.slots = devices.of(dev);
  }

  get size(): number {
    return this.end;
  }

  append(buffers: readonly Buffer[]): void {
    this.checkOpen();
    try {
      if (buffers.length === 1) this.write(buffers[0] as Buffer, this.end, true);
      else this.writeAll(buffers.filter((buffer) => buffer.length > 0));
    } catch (error) {
      throw diskError(error, 'append to', this.path);
    }
  }

  writeAt(position: number, bytes: Buffer): void {
    this.checkOpen();
    if (position + bytes.length > this.end) {
      throw new TributaryError('STORAGE_ERROR', `write beyond the end of ${this.path}`);
    }
    onDisk('write', this.path, () => this.write(bytes, position, false));
  }

  read(position: number, length: number): Buffer {
    this.checkOpen();
    const bytes = Buffer.allocUnsafe(this.readable(position, length));
    return onDisk('read', this.path, () => {
      let filled = 0;
      while (filled < bytes.length) {
        const rest = bytes.length - filled;
        const count = fs.readSync(this.descriptor, bytes, filled, rest, position + filled);
        if (count === 0) break;
        filled += count;
      }
      return bytes.subarray(0, filled);
    });
  }

  async readAsync(position: number, length: number, into?: Buffer): Promise<Buffer> {
    this.checkOpen();
    const wanted = this.readable(position, length);
    const bytes = into?.subarray(0, wanted) ?? Buffer.allocUnsafe(wanted);
    let filled = 0;
    while (filled < bytes.length) {
      const count = await this.threadPool<number>('read', this.slots.reads, (done) => {
        const rest = bytes.length - filled;
        fs.read(this.descriptor, bytes, filled, rest, position + filled, done);
      });
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  }

  truncate(size: number): void {
    this.checkOpen();
    onDisk('truncate', this.path, () => fs.ftruncateSync(this.descriptor, size));
    this.end = size;
  }

  async datasync(): Promise<void> {
    const { syncs } = this.slots;
    await this.threadPool<void>('sync', syncs, (done) => fs.fdatasync(this.descriptor, done));
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.closeWhenUnused();
  }

  /** All of `bytes`, however many calls the system wants for it; `growing`: they move the end. */
  private write(bytes: Buffer, position: number, growing: boolean): void {
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      const count = fs.writeSync(this.descriptor, bytes, written, rest, position + written);
      written += count;
      if (growing) this.end += count;
    }
  }

  private writeAll(buffers: readonly Buffer[]): void {
    let pending = buffers;
    while (pending.length > 0) {
      let written = fs.writevSync(this.descriptor, pending, this.end);
      this.end += written;
      let whole = 0;
      while (whole < pending.length && written >= (pending[whole] as Buffer).length) {
        written -= (pending[whole] as Buffer).length;
        whole += 1;
      }
      pending = pending.slice(whole);
      const torn = pending[0];
      if (torn && written > 0) {
        this.write(torn.subarray(written), this.end, true);
        pending = pending.slice(1);
      }
    }
  }

  private readable(position: number, length: number): number {
    return Math.max(0, Math.min(length, this.end - position));
  }

  /** The descriptor stays open from the call on, also while it waits for its turn at the device. */
  private threadPool<T>(
    operation: string,
    slots: SyncSlots,
    start: (done: (error: NodeJS.ErrnoException | null, result?: T) => void) => void,
  ): Promise<T> {
    this.checkOpen();
    this.inThreadPool += 1;
    const call = (): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        start((error, result) => {
          this.inThreadPool -= 1;
          if (this.closed) this.closeWhenUnused();
          if (error) reject(diskError(error, operation, this.path));
          else resolve(result as T);
        });
      });
    return slots.run(call);
  }

  private closeWhenUnused(): void {
    if (this.inThreadPool > 0) return;
    onDisk('close', this.path, () => fs.closeSync(this.descriptor));
  }

  private checkOpen(): void {
    if (this.closed) throw new TributaryError('CLOSED', `${this.path} is closed`);
  }
}
