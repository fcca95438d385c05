/**
 * A disk in memory that can fail like a real one: the process on it may die (`crash`), with or without the
 * power, it may be full, and any operation may be told to fail. Invariant: after `crash` nothing of the old
 * life works, neither open files nor a mounted disk, so that a zombie cannot write into the new life.
 * Called by unit tests of the log and by every simulated world, one disk per simulated machine.
 */
import { TributaryError, type Random } from '@tributary/common';
import type { DirectoryLock, Disk, DiskFile, OpenOptions } from '@tributary/log';
import { SimulatedContent } from './simulated-disk-content';
import {
  WRITES,
  type Armed,
  type DiskOperation,
  type InjectedFailure,
} from './simulated-disk-failures';
import { SimulatedDirectory, SimulatedTree, storageError } from './simulated-disk-tree';

export class SimulatedDisk implements Disk {
  private readonly tree = new SimulatedTree();
  private readonly locks = new Set<string>();
  private armed: Armed[] = [];
  private capacityBytes = Infinity;
  private life = 0;
  private boots = 1;
  /** Writes of all kinds so far: see `cutPowerAt` and `killAt`. */
  writes = 0;
  private end:
    { readonly write: number; readonly random: Random; readonly loseUnsynced: boolean } | undefined;
  /** How long a datasync takes; it makes durable what was written before it began. Default: no time. */
  syncTime: (path: string) => Promise<void> = () => Promise.resolve();
  /** How often each operation was called: for tests that count syncs. */
  readonly calls: Partial<Record<DiskOperation, number>> = {};

  /** The process on this disk dies; with `loseUnsynced` the power fails, and what was not synced is lost or torn. */
  crash(options: { readonly loseUnsynced: boolean; readonly random: Random }): void {
    this.life += 1;
    this.locks.clear();
    this.armed = [];
    if (!options.loseUnsynced) return;
    this.boots += 1;
    this.tree.loseUnsynced(options.random);
  }

  /** The power fails instead of the write with this number; of an append a random part is written before. */
  cutPowerAt(write: number, random: Random): void {
    this.end = { write, random, loseUnsynced: true };
  }

  /** As `cutPowerAt`, but only the process dies. */
  killAt(write: number, random: Random): void {
    this.end = { write, random, loseUnsynced: false };
  }

  failNext(operation: DiskOperation, failure: InjectedFailure = {}): void {
    this.armed.push({ ...failure, operation, left: failure.times ?? 1 });
  }

  /** Forgets what `failNext` armed. */
  failNoMore(): void {
    this.armed = [];
  }

  /** Appends beyond this many bytes on the whole disk are DISK_FULL; undefined: there is room again. */
  setFull(bytes: number | undefined): void {
    this.capacityBytes = bytes ?? Infinity;
  }

  get usedBytes(): number {
    return this.tree.usedBytes();
  }

  /** What `failNext` armed for this operation has not happened yet. */
  isArmed(operation: DiskOperation): boolean {
    return this.armed.some((one) => one.operation === operation && one.left > 0);
  }

  flipBit(path: string, byte: number, bit = 0): void {
    this.tree.file(path).flip(byte, bit);
  }

  /** Names of the files of this directory in which a flipped bit stands. */
  rotten(directory: string): string[] {
    return this.list(directory).filter((name) => {
      const node = this.tree.find(`${directory}/${name}`);
      return node instanceof SimulatedContent && node.isRotten;
    });
  }

  /** What was written to this file, without the bits that flipped; no call that could fail. */
  written(path: string): Buffer {
    return this.tree.file(path).written;
  }

  /** What a loss of power would leave of this file for sure; empty: maybe nothing. */
  synced(path: string): Buffer {
    const node = this.tree.findDurable(path);
    return node instanceof SimulatedContent ? node.synced : Buffer.alloc(0);
  }

  /** The disk as one process sees it: dead after the next crash, while the machine goes on. */
  mount(): Disk {
    const life = this.life;
    const checked = <A extends unknown[], R>(call: (...args: A) => R): ((...args: A) => R) => {
      return (...args) => {
        this.checkLife(life, 'disk');
        return call.apply(this, args);
      };
    };
    return {
      openFile: checked((path: string, options?: OpenOptions) => this.openFile(path, options)),
      exists: checked((path: string) => this.exists(path)),
      fileSize: checked((path: string) => this.fileSize(path)),
      list: checked((path: string) => this.list(path)),
      isDirectory: checked((path: string) => this.isDirectory(path)),
      makeDirectory: checked((path: string) => this.makeDirectory(path)),
      rename: checked((from: string, to: string) => this.rename(from, to)),
      remove: checked((path: string) => this.remove(path)),
      removeAsync: async (path: string) => {
        this.checkLife(life, path);
        await this.removeAsync(path);
      },
      syncDirectory: async (path: string) => {
        this.checkLife(life, path);
        await this.syncDirectory(path);
      },
      lockDirectory: checked((path: string) => this.lockDirectory(path)),
      freeBytes: checked((path: string) => this.freeBytes(path)),
      bootId: checked(() => this.bootId()),
    };
  }

  openFile(path: string, options: OpenOptions = {}): DiskFile {
    this.enter('open', path);
    const found = this.tree.find(path);
    if (found instanceof SimulatedDirectory) throw storageError(`${path} is a directory`, path);
    if (!found && !options.create) throw storageError(`${path} does not exist`, path);
    return new SimulatedFile(this, path, found ?? this.tree.createFile(path), this.life);
  }

  exists(path: string): boolean {
    return this.tree.find(path) !== undefined;
  }

  fileSize(path: string): number {
    return this.tree.file(path).size;
  }

  list(directory: string): string[] {
    if (!this.exists(directory)) return [];
    return [...this.tree.directory(directory).entries.keys()].sort();
  }

  isDirectory(path: string): boolean {
    return this.tree.find(path) instanceof SimulatedDirectory;
  }

  makeDirectory(path: string): void {
    this.enter('makeDirectory', path);
    this.tree.makeDirectory(path);
  }

  rename(from: string, to: string): void {
    this.enter('rename', from);
    this.tree.rename(from, to);
  }

  remove(path: string): void {
    this.enter('remove', path);
    this.tree.remove(path);
  }

  async removeAsync(path: string): Promise<void> {
    const { life } = this;
    await Promise.resolve();
    this.checkLife(life, path);
    this.remove(path);
  }

  async syncDirectory(directory: string): Promise<void> {
    const { life } = this;
    this.enter('syncDirectory', directory);
    const node = this.tree.directory(directory);
    await Promise.resolve();
    this.checkLife(life, directory);
    this.tree.sync(node);
  }

  lockDirectory(directory: string): DirectoryLock {
    this.enter('lock', directory);
    this.tree.directory(directory);
    if (this.locks.has(directory)) {
      throw new TributaryError(
        'DATA_DIR_LOCKED',
        `the data directory is in use by process 1: ${directory}`,
        { details: { path: directory, pid: 1 } },
      );
    }
    this.locks.add(directory);
    const { life } = this;
    return {
      unlock: () => {
        if (life === this.life) this.locks.delete(directory);
      },
    };
  }

  freeBytes(_path: string): number {
    return Math.max(0, Math.min(this.capacityBytes, 2 ** 40) - this.usedBytes);
  }

  bootId(): string {
    return `boot-${this.boots}`;
  }

  /** For SimulatedFile: counts the call and throws what was armed for it. */
  enter(operation: DiskOperation, path: string, partial?: (bytes: number) => void): void {
    this.calls[operation] = (this.calls[operation] ?? 0) + 1;
    if (WRITES.has(operation)) this.countWrite(path, partial);
    const failure = this.armed.find(
      (one) => one.operation === operation && one.left > 0 && path.includes(one.path ?? ''),
    );
    if (!failure) return;
    failure.left -= 1;
    partial?.(failure.partialBytes ?? 0);
    const code = failure.code ?? 'STORAGE_ERROR';
    throw new TributaryError(code, `${operation} ${path}: injected failure`, { details: { path } });
  }

  private countWrite(path: string, partial: ((bytes: number) => void) | undefined): void {
    const { end } = this;
    this.writes += 1;
    if (this.writes !== end?.write) return;
    partial?.(Math.floor(2 ** (end.random.next() * 14)) - 1);
    this.end = undefined;
    this.crash(end);
    throw storageError(`${path}: the process died`, path);
  }

  /** For SimulatedFile. */
  checkLife(life: number, path: string): void {
    if (life !== this.life) throw storageError(`${path}: the process on this disk is dead`, path);
  }

  /** For SimulatedFile: how many of `wanted` bytes fit. */
  room(wanted: number): number {
    if (this.capacityBytes === Infinity) return wanted;
    return Math.max(0, Math.min(wanted, this.capacityBytes - this.usedBytes));
  }
}

class SimulatedFile implements DiskFile {
  private closed = false;

  constructor(
    private readonly disk: SimulatedDisk,
    readonly path: string,
    private readonly content: SimulatedContent,
    private readonly life: number,
  ) {}

  get size(): number {
    return this.content.size;
  }

  append(buffers: readonly Buffer[]): void {
    this.checkUsable();
    const bytes = Buffer.concat(buffers);
    const write = (count: number): void => this.content.append(bytes.subarray(0, count));
    this.disk.enter('append', this.path, write);
    const room = this.disk.room(bytes.length);
    write(room);
    if (room < bytes.length) {
      throw new TributaryError('DISK_FULL', `append to ${this.path}: the disk is full`, {
        details: { path: this.path },
      });
    }
  }

  writeAt(position: number, bytes: Buffer): void {
    this.checkUsable();
    this.disk.enter('writeAt', this.path);
    if (position + bytes.length > this.size) {
      throw storageError(`write beyond the end of ${this.path}`, this.path);
    }
    this.content.writeAt(position, bytes);
  }

  read(position: number, length: number): Buffer {
    this.checkUsable();
    this.disk.enter('read', this.path);
    return this.content.read(position, length);
  }

  async readAsync(position: number, length: number, into?: Buffer): Promise<Buffer> {
    this.checkUsable();
    await Promise.resolve();
    this.disk.checkLife(this.life, this.path);
    this.disk.enter('read', this.path);
    const bytes = this.content.read(position, length);
    if (!into) return bytes;
    bytes.copy(into);
    return into.subarray(0, bytes.length);
  }

  truncate(size: number): void {
    this.checkUsable();
    this.disk.enter('truncate', this.path);
    this.content.truncate(size);
  }

  async datasync(): Promise<void> {
    this.checkUsable();
    this.disk.enter('datasync', this.path);
    const synced = this.content.beginSync();
    await this.disk.syncTime(this.path);
    this.disk.checkLife(this.life, this.path);
    synced();
  }

  close(): void {
    this.closed = true;
  }

  private checkUsable(): void {
    this.disk.checkLife(this.life, this.path);
    if (this.closed) throw new TributaryError('CLOSED', `${this.path} is closed`);
  }
}
