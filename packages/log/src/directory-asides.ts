/**
 * What lies in a log directory beside the logs in use: strays, damaged replicas that are being refilled, what is on its
 * way out. Invariant: nothing that was set aside is overwritten; only what is to be deleted goes, and what is answered as
 * deleted does not come back. Deletions of different replicas may go side by side. Called by LogDirectory.
 */
import { parsePartitionName, partitionName, SharedRun } from '@tributary/common';
import type { DirectoryLogs } from './directory-logs';
import { asideName, parseAsideName, type AsideKind, type AsideName } from './directory-names';
import type { Log } from './log';
import { findPartition } from './log-directory-loader';
import type { LogDirectoryOptions } from './log-directory-options';
import type { ReplicaId } from './log-store';

export class DirectoryAsides {
  private readonly sync: SharedRun;
  /** Names of logs that were closed without a flush, and are not durably on their way out. */
  private readonly unflushed = new Set<string>();

  constructor(
    private readonly options: LogDirectoryOptions,
    private readonly logs: DirectoryLogs,
  ) {
    const { disk, directory } = options;
    this.sync = new SharedRun(() => disk.syncDirectory(directory));
  }

  /** What lies under some name may not be on the device: nobody may vouch for the directory. */
  get someAreUnflushed(): boolean {
    return this.unflushed.size > 0;
  }

  list(kind: AsideKind): ReplicaId[] {
    return this.all(kind).map(({ topic, topicId, partition }) => ({ topic, topicId, partition }));
  }

  remove(kind: AsideKind, topicId: string, partition: number): void {
    for (const aside of this.all(kind)) {
      if (aside.topicId !== topicId || aside.partition !== partition) continue;
      this.options.disk.remove(`${this.options.directory}/${asideName(aside)}`);
    }
  }

  /** Gone when it resolves, wherever it lies here, but for files that the next start removes. */
  async delete(topicId: string, partition: number, found?: string): Promise<void> {
    this.remove('stray', topicId, partition);
    this.remove('damaged', topicId, partition);
    const aside = await this.move(topicId, partition, 'delete', found);
    if (aside !== undefined) await this.options.disk.removeAsync(aside);
  }

  /**
   * Closes the log and renames its directory, durably; gives the new path, or undefined when there is no such log.
   * @param found its name, when it is known.
   */
  async move(
    topicId: string,
    partition: number,
    kind: AsideKind,
    found?: string,
  ): Promise<string | undefined> {
    const { disk, directory, logger } = this.options;
    const log = this.logs.get(topicId, partition);
    // What it says of itself on the disk may be what is damaged.
    const served = log && partitionName(log.topic, log.partition);
    const name = found ?? served ?? findPartition(this.options, topicId, partition);
    if (!name) return undefined;
    this.logs.remove(topicId, partition);
    if (log && kind === 'delete') this.unflushed.add(name);
    await this.close(log, kind).catch((error: unknown) => {
      logger.warn('a log that is set aside did not close cleanly', { partition: name, error });
    });
    const { topic } = parsePartitionName(name) ?? { topic: name };
    const target = this.place({ topic, partition, topicId, kind });
    disk.rename(`${directory}/${name}`, target);
    this.logs.mended(name);
    await this.sync.run();
    this.unflushed.delete(name);
    return target;
  }

  /** What is about to be deleted need not reach the device first. */
  private async close(log: Log | undefined, kind: AsideKind): Promise<void> {
    await (kind === 'delete' ? log?.discard() : log?.close());
  }

  /** Removes it where what is to take its place could not become as large. */
  keepIfRoom(path: string): void {
    const { disk, directory, logger } = this.options;
    const files = disk.list(path).map((name) => `${path}/${name}`);
    const bytes = files.reduce((sum, file) => sum + disk.fileSize(file), 0);
    if (bytes <= disk.freeBytes(directory)) return;
    disk.remove(path);
    logger.warn('no room to keep a damaged log while it is refilled: removed', { path, bytes });
  }

  /** A path that is free for it. */
  private place(aside: ReplicaId & { readonly kind: AsideKind }): string {
    for (let copy = 1; ; copy += 1) {
      const path = `${this.options.directory}/${asideName({ ...aside, copy })}`;
      if (aside.kind === 'delete' && this.options.disk.exists(path)) this.options.disk.remove(path);
      if (!this.options.disk.exists(path)) return path;
    }
  }

  private all(kind: AsideKind): AsideName[] {
    const asides = this.options.disk.list(this.options.directory).map(parseAsideName);
    return asides.flatMap((aside) => (aside?.kind === kind ? aside : []));
  }
}
