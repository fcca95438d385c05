/**
 * `leader-epoch-checkpoint` with its companion `.crc`: which leader epoch begins at which offset. Kafka's format has no room
 * for a checksum, and recovery holds the batches against it, so a byte that changed here must not make a sound log
 * look damaged, nor an epoch in which nobody wrote yet another one. A file that fails its sum counts as missing: the
 * seals and the batches tell the same, but for epochs without a batch.
 *
 * Invariant: the companion names every content that the file may have after a crash. Other than for checkpoints they
 * share one sync of the directory: both are renamed in order, and a journal keeps that; so a change of leader
 * waits for the device once more, not twice. Without companion (older versions, Kafka) the file is believed in what it tells.
 * What is only added, and must not wait, goes behind the sums (epoch-additions.ts).
 * Called by the log, its loader and its repair.
 */
import { TributaryError } from '@tributary/common';
import { CONTENTS_MAX, formatSums, SUMS_SUFFIX, sumOf, takeSums } from './content-sums';
import type { Disk } from './disk';
import { readTextFile } from './durable-text-file';
import {
  addedEntries,
  ADDITIONS_MAX,
  formatAddition,
  parseAdditions,
  withEntries,
} from './epoch-additions';
import { MergedWrites } from './merged-writes';

export const EPOCH_FILE = 'leader-epoch-checkpoint';

export class EpochFile {
  readonly path: string;
  private readonly companionPath: string;
  private readonly writes = new MergedWrites((text, version) => this.persist(text, version));
  /** Of the contents that the file may have on the device; undefined: not looked at yet. */
  private sums: readonly string[] | undefined;
  /** What a reader finds now, the additions included; undefined: not known, or nothing can be added to it. */
  private placed: string | undefined;
  /** The sum of the file alone, and the lines that are added to it. */
  private base = '';
  private additions: readonly string[] = [];
  private lacks = false;

  constructor(
    private readonly disk: Disk,
    private readonly directory: string,
  ) {
    this.path = `${directory}/${EPOCH_FILE}`;
    this.companionPath = `${this.path}${SUMS_SUFFIX}`;
  }

  /** undefined: there is none. Throws CORRUPT_LOG when a byte of it, or of its companion, changed. */
  read(): string | undefined {
    const text = readTextFile(this.disk, this.path);
    this.sums = [];
    this.placed = undefined;
    this.additions = [];
    this.lacks = false;
    if (text === undefined) return undefined;
    const sum = sumOf(text);
    const companion = readTextFile(this.disk, this.companionPath);
    const { sums, rest } =
      companion === undefined ? { sums: [sum], rest: '' } : takeSums(companion);
    const added = sums.includes(sum) ? parseAdditions(rest, sum) : undefined;
    if (!added) {
      throw new TributaryError('CORRUPT_LOG', `${this.path}: its checksum does not match`, {
        details: { path: this.path },
      });
    }
    this.sums = [sum];
    const told = withEntries(text, added.entries);
    this.base = sum;
    this.additions = added.entries.map((entry) => formatAddition(sum, entry));
    this.lacks = companion === undefined || added.isTorn;
    if (!this.lacks) this.placed = told;
    return told;
  }

  /** Of what was read last: entries may have been added to it that are lost, with the companion or with the end of it. */
  get mayLackTheLast(): boolean {
    return this.lacks;
  }

  /** Durable when it resolves, unless a newer text took its place meanwhile: then that one is. */
  write(text: string): Promise<void> {
    return this.writes.write(text);
  }

  /** In place on return, safe from the death of the process; not yet from the power's. */
  writeNow(text: string): void {
    this.writes.overtake(text);
    this.possible(); // looks at what is there, where nobody did
    const added = this.placed === undefined ? undefined : addedEntries(this.placed, text);
    if (added && this.additions.length + added.length <= ADDITIONS_MAX)
      return this.add(added, text);
    const sums = this.sumsWith(text);
    const asides = [
      this.writeAside(this.companionPath, '.now.tmp', this.companionFor(text, sums)),
      this.writeAside(this.path, '.now.tmp', text),
    ];
    this.sums = sums;
    this.putInPlace(asides, text);
  }

  remove(): void {
    this.placed = undefined;
    this.disk.remove(this.path);
    this.disk.remove(this.companionPath);
  }

  private async persist(text: string, version: number): Promise<boolean> {
    if (this.isWhole(text)) return this.persistWhole(text, version);
    const sums = this.sumsWith(text);
    const asides = [
      this.writeAside(this.companionPath, '.tmp', this.companionFor(text, sums)),
      this.writeAside(this.path, '.tmp', text),
    ];
    // One after another: each that is under way has a descriptor, and there are many logs.
    for (const path of asides) await this.sync(path);
    // A newer text may be in place already; the caller's loop writes that one.
    if (!this.writes.isNewest(version)) return false;
    this.sums = sums;
    this.putInPlace(asides, text);
    await this.disk.syncDirectory(this.directory);
    if (this.writes.isNewest(version)) this.sums = [sumOf(text)];
    return true;
  }

  /** The file itself has this text already, for example since before the process died: it only has to reach the device. */
  private isWhole(text: string): boolean {
    this.possible();
    return this.placed === text && this.base === sumOf(text);
  }

  private async persistWhole(text: string, version: number): Promise<boolean> {
    for (const path of [this.companionPath, this.path]) await this.sync(path);
    await this.disk.syncDirectory(this.directory);
    if (!this.writes.isNewest(version)) return false;
    this.sums = [sumOf(text)];
    return true;
  }

  private add(entries: readonly string[], text: string): void {
    const lines = entries.map((entry) => formatAddition(this.base, entry));
    // Half a line would stand before the next one.
    this.placed = undefined;
    const file = this.disk.openFile(this.companionPath);
    try {
      file.append([Buffer.from(lines.join(''))]);
    } finally {
      file.close();
    }
    this.placed = text;
    this.additions = [...this.additions, ...lines];
  }

  /** Until the file is renamed, too, a reader must find what was added to the content before. */
  private companionFor(text: string, sums: readonly string[]): string {
    const additions = sumOf(text) === this.base ? [] : this.additions;
    return formatSums(sums) + additions.join('');
  }

  private putInPlace(asides: readonly string[], text: string): void {
    const paths = [this.companionPath, this.path];
    this.placed = undefined;
    asides.forEach((aside, i) => this.disk.rename(aside, paths[i] as string));
    this.placed = text;
    this.base = sumOf(text);
    this.additions = [];
  }

  private async sync(path: string): Promise<void> {
    const file = this.disk.openFile(path);
    try {
      await file.datasync();
    } finally {
      file.close();
    }
  }

  private writeAside(path: string, suffix: string, text: string): string {
    const aside = `${path}${suffix}`;
    this.disk.remove(aside);
    const file = this.disk.openFile(aside, { create: true });
    try {
      file.append([Buffer.from(text)]);
    } finally {
      file.close();
    }
    return aside;
  }

  private sumsWith(text: string): readonly string[] {
    return [...new Set([sumOf(text), ...this.possible()])].slice(0, CONTENTS_MAX);
  }

  private possible(): readonly string[] {
    if (this.sums) return this.sums;
    try {
      this.read();
    } catch {
      return []; // damaged: it must stay known as that until the new one is in place
    }
    return this.sums ?? [];
  }
}
