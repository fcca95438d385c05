/**
 * A small file system in memory as the disk of one broker, which can be filled to the last byte. Root on Linux.
 * Invariant: it is unmounted by `close` and when this process ends; what a killed runner left goes at the next start.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { runCommand, runNow } from './run-command';

const SIZE_MIB = 192;
const BALLAST = '.ballast';
const NAME = /^tributary-chaos-(\d+)$/;

export class SmallDisk {
  private readonly onExit = (): void => runNow('umount', ['-l', this.directory]);

  private constructor(private readonly directory: string) {}

  static get possible(): boolean {
    return process.platform === 'linux' && process.getuid?.() === 0;
  }

  /** Throws UNAVAILABLE where the system does not allow it after all. */
  static async mount(directory: string): Promise<SmallDisk> {
    await sweep();
    mkdirSync(directory, { recursive: true });
    const options = ['-t', 'tmpfs', '-o', `size=${SIZE_MIB}m`];
    await runCommand('mount', [...options, `tributary-chaos-${process.pid}`, directory]);
    const disk = new SmallDisk(directory);
    process.once('exit', disk.onExit);
    return disk;
  }

  /** Not a byte is left. */
  fill(): void {
    const file = openSync(join(this.directory, BALLAST), 'a');
    try {
      for (const size of [2 ** 20, 4096, 512, 1]) writeUntilFull(file, Buffer.alloc(size));
    } finally {
      closeSync(file);
    }
  }

  empty(): void {
    rmSync(join(this.directory, BALLAST), { force: true });
  }

  async close(): Promise<void> {
    await runCommand('umount', ['-l', this.directory]);
    process.off('exit', this.onExit);
  }
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    while (writeSync(file, bytes) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

async function sweep(): Promise<void> {
  for (const line of readFileSync('/proc/mounts', 'utf8').split('\n')) {
    const [source = '', directory = ''] = line.split(' ');
    const owner = NAME.exec(source)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    await runCommand('umount', ['-l', directory]).catch(() => ''); // another runner was faster
  }
}
