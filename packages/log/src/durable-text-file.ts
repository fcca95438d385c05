/**
 * A small text file that is replaced as a whole: temp file, sync, rename, directory sync. Invariant: the file
 * under its name is always one whole version, and never an older one than a caller was told is durable.
 * Concurrent writes are merged: while one is on its way to the device, only the newest waits behind it.
 * Called for checkpoints, the epoch file, partition.metadata, meta.properties and the clean-shutdown marker.
 */
import type { Disk } from './disk';

export interface DurableTextFileOptions {
  /** Mode 0600. */
  readonly ownerOnly?: boolean;
}

export class DurableTextFile {
  private text = '';
  /** Counts the texts given to us. */
  private newest = 0;
  private durable = 0;
  private running: Promise<void> | undefined;

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
  async write(text: string): Promise<void> {
    if (text === this.text && this.newest > 0 && this.durable === this.newest) return;
    this.text = text;
    const mine = (this.newest += 1);
    while (this.durable < mine) {
      this.running ??= this.persist().finally(() => (this.running = undefined));
      await this.running;
    }
  }

  /** In place on return, safe from the death of the process; not yet from the power's. */
  writeNow(text: string): void {
    this.text = text;
    this.newest += 1;
    this.disk.rename(this.writeAside(`${this.path}.now.tmp`), this.path);
  }

  private async persist(): Promise<void> {
    const version = this.newest;
    const aside = this.writeAside(`${this.path}.tmp`);
    const file = this.disk.openFile(aside);
    try {
      await file.datasync();
    } finally {
      file.close();
    }
    // A newer text may be in place already; the caller's loop writes that one.
    if (version !== this.newest) return;
    this.disk.rename(aside, this.path);
    await this.disk.syncDirectory(this.path.slice(0, this.path.lastIndexOf('/')));
    this.durable = version;
  }

  private writeAside(path: string): string {
    this.disk.remove(path); // a leftover might have another mode
    const file = this.disk.openFile(path, { create: true, ownerOnly: this.options.ownerOnly });
    try {
      file.append([Buffer.from(this.text)]);
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
