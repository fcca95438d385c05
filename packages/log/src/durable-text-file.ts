/**
 * A small text file that is replaced as a whole: temp file, sync, rename, directory sync. Invariant: the file
 * under its name is always one whole version, and never an older one than a caller was told is durable.
 * Concurrent writes are merged: while one is on its way to the device, only the newest waits behind it.
 * Called for checkpoints, the epoch file, partition.metadata, meta.properties and the clean-shutdown marker.
 */
import type { Disk } from './disk';
import { MergedWrites } from './merged-writes';

export interface DurableTextFileOptions {
  /** Mode 0600. */
  readonly ownerOnly?: boolean;
}

export class DurableTextFile {
  private readonly writes = new MergedWrites((text, version) => this.persist(text, version));

  constructor(
    private readonly disk: Disk,
    readonly path: string,
    private readonly options: DurableTextFileOptions = {},
  ) {}

  read(): string | undefined {
    if (!this.disk.exists(this.path)) return undefined;
    const file = this.disk.openFile(this.path);
    try {
      return file.read(0, file.size).toString('utf8');
    } finally {
      file.close();
    }
  }

  /** Durable when it resolves, unless a newer text took its place meanwhile: then that one is. */
  write(text: string): Promise<void> {
    return this.writes.write(text);
  }

  /** In place on return, safe from the death of the process; not yet from the power's. */
  writeNow(text: string): void {
    this.writes.overtake(text);
    this.disk.rename(this.writeAside(`${this.path}.now.tmp`, text), this.path);
  }

  private async persist(text: string, version: number): Promise<boolean> {
    const aside = this.writeAside(`${this.path}.tmp`, text);
    const file = this.disk.openFile(aside);
    try {
      await file.datasync();
    } finally {
      file.close();
    }
    // A newer text may be in place already; the caller's loop writes that one.
    if (!this.writes.isNewest(version)) return false;
    this.disk.rename(aside, this.path);
    await this.disk.syncDirectory(this.path.slice(0, this.path.lastIndexOf('/')));
    return true;
  }

  private writeAside(path: string, text: string): string {
    this.disk.remove(path); // a leftover might have another mode
    const file = this.disk.openFile(path, { create: true, ownerOnly: this.options.ownerOnly });
    try {
      file.append([Buffer.from(text)]);
    } finally {
      file.close();
    }
    return path;
  }
}

/** For what only the user of the process may read, such as a session's password. Durable when it resolves. */
export function writePrivateFile(disk: Disk, path: string, text: string): Promise<void> {
  return new DurableTextFile(disk, path, { ownerOnly: true }).write(text);
}

/** undefined: there is none. */
export function readTextFile(disk: Disk, path: string): string | undefined {
  return new DurableTextFile(disk, path).read();
}
