/** The Disk port on node:fs. Made once by the composition root; everything else gets it passed in. */
import * as fs from 'node:fs';
import type { DirectoryLock, Disk, DiskFile, OpenOptions } from '../disk';
import { diskError, onDisk } from './node-disk-error';
import { NodeDiskFile } from './node-disk-file';
import { bootId } from './node-disk-boot';
import { lockDirectory } from './node-disk-lock';

const OWNER_ONLY = 0o600;
const DEFAULT_MODE = 0o644;

export class NodeDisk implements Disk {
  openFile(path: string, options: OpenOptions = {}): DiskFile {
    const { O_RDONLY, O_RDWR, O_CREAT } = fs.constants;
    const access = options.readOnly ? O_RDONLY : O_RDWR;
    const flags = options.create ? access | O_CREAT : access;
    const mode = options.ownerOnly ? OWNER_ONLY : DEFAULT_MODE;
    return onDisk('open', path, () => new NodeDiskFile(path, fs.openSync(path, flags, mode)));
  }

  exists(path: string): boolean {
    return fs.existsSync(path);
  }

  fileSize(path: string): number {
    return onDisk('look at', path, () => fs.statSync(path).size);
  }

  list(directory: string): string[] {
    return onDisk('list', directory, () => {
      if (!fs.existsSync(directory)) return [];
      return fs.readdirSync(directory).sort();
    });
  }

  isDirectory(path: string): boolean {
    const stat = onDisk('look at', path, () => fs.statSync(path, { throwIfNoEntry: false }));
    return stat?.isDirectory() ?? false;
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

  async syncDirectory(directory: string): Promise<void> {
    try {
      const handle = await fs.promises.open(directory, 'r');
      try {
        await handle.sync();
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
