/** The Disk port on node:fs. Made once by the composition root; everything else gets it passed in. */
import * as fs from 'node:fs';
import type { DirectoryLock, Disk, DiskFile, OpenOptions } from '../disk';
import { diskError, onDisk } from './node-disk-error';
import { DeviceSlotsTable } from './node-disk-device';
import { NodeDiskFile } from './node-disk-file';
import { bootId } from './node-disk-boot';
import { lockDirectory } from './node-disk-lock';

const OWNER_ONLY = 0o600;
const DEFAULT_MODE = 0o644;

export class NodeDisk implements Disk {
  private readonly devices = new DeviceSlotsTable();

  openFile(path: string, options: OpenOptions = {}): DiskFile {
    const { O_RDONLY, O_RDWR, O_CREAT } = fs.constants;
    const access = options.readOnly ? O_RDONLY : O_RDWR;
    const flags = options.create ? access | O_CREAT : access;
    const mode = options.ownerOnly ? OWNER_ONLY : DEFAULT_MODE;
    return onDisk(
      'open',
      path,
      () => new NodeDiskFile(path, fs.openSync(path, flags, mode), this.devices),
    );
  }

  /** A disk that does not answer is an error: what is on it is not gone, and must not be made anew. */
  exists(path: string): boolean {
    return statOf(path) !== undefined;
  }

  fileSize(path: string): number {
    return onDisk('look at', path, () => fs.statSync(path).size);
  }

  list(directory: string): string[] {
    if (!this.exists(directory)) return [];
    return onDisk('list', directory, () => fs.readdirSync(directory).sort());
  }

  isDirectory(path: string): boolean {
    return statOf(path)?.isDirectory() ?? false;
  }

  makeDirectory(path: string): void {
    onDisk('create', path, () => fs.mkdirSync(path, { recursive: true }));
  }

  rename(from: string, to: string): void {
    onDisk('rename', from, () => fs.renameSync(from, to));
  }

  remove(path: string): void {
    onDisk('remove', path, () => fs.rmSync(path, { recursive: true, force: true }));
  }

  async removeAsync(path: string): Promise<void> {
    const found = statOf(path);
    if (!found) return;
    const { removals, syncs } = this.devices.of(found.dev);
    const remove = (): Promise<void> => fs.promises.rm(path, { recursive: true, force: true });
    try {
      await removals.run(() => syncs.run(remove));
    } catch (error) {
      throw diskError(error, 'remove', path);
    }
  }

  async syncDirectory(directory: string): Promise<void> {
    try {
      const handle = await fs.promises.open(directory, 'r');
      try {
        const { dev } = await handle.stat();
        await this.devices.of(dev).syncs.run(() => handle.sync());
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw diskError(error, 'sync', directory);
    }
  }

  lockDirectory(directory: string): DirectoryLock {
    return lockDirectory(directory);
  }

  freeBytes(path: string): number {
    return onDisk('look at', path, () => {
      const { bavail, bsize } = fs.statfsSync(path);
      return bavail * bsize;
    });
  }

  bootId(): string | undefined {
    return bootId();
  }
}

/** undefined: nothing lies there. */
function statOf(path: string): fs.Stats | undefined {
  return onDisk('look at', path, () => {
    try {
      return fs.statSync(path, { throwIfNoEntry: false });
    } catch (error) {
      // Below a file.
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
      throw error;
    }
  });
}
