/**
 * The bench's own entry point of a broker: as the real one, but its disk completes no sync while the file that
 * BENCH_STALL_FILE names is there. Started by the bench in place of the broker's own.
 */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '@tributary/common';
import { NodeDisk, type DiskFile, type OpenOptions } from '@tributary/log';
import { diskParts, runBroker } from '@tributary/server';

const POLL_MS = 20;

class StallingDisk extends NodeDisk {
  constructor(private readonly stallFile: string) {
    super();
  }

  override openFile(path: string, options?: OpenOptions): DiskFile {
    const file = super.openFile(path, options);
    const datasync = file.datasync.bind(file);
    file.datasync = async () => {
      await this.answers();
      await datasync();
    };
    return file;
  }

  override async syncDirectory(directory: string): Promise<void> {
    await this.answers();
    await super.syncDirectory(directory);
  }

  private async answers(): Promise<void> {
    while (existsSync(this.stallFile)) await pause(POLL_MS);
  }
}

const disk = new StallingDisk(process.env.BENCH_STALL_FILE ?? '');
void runBroker(process.argv.slice(2), process.env, (config, logger) =>
  diskParts(config, logger, { clock: systemClock, disk }),
);
