/**
 * The bytes of one simulated file, twice: as every process sees them, and as they would be after the power
 * failed. Invariant: both agree below `dirtyFrom`. A crash leaves any mixture of the two above it, sector by
 * sector, as real disks do: old bytes, new bytes, or zeros where only the length had reached the device.
 */
import { assert, type Random } from '@tributary/common';

const SECTOR_BYTES = 512;

interface SyncUnderWay {
  /** What it brings to the device, and where that begins. */
  readonly from: number;
  readonly written: Buffer;
  /** From where on the file was changed since it began. */
  changedFrom: number;
}

export class SimulatedContent {
  private bytes = Buffer.alloc(0);
  private length = 0;
  private durable = Buffer.alloc(0);
  private dirtyFrom = 0;
  private begunSyncs = 0;
  /** The newest one that has ended. */
  private endedSync = 0;
  private readonly syncs = new Set<SyncUnderWay>();
  /** By position of a byte that is not as it was written: the bits that flipped. */
  private readonly rotten = new Map<number, number>();

  get size(): number {
    return this.length;
  }

  /** A bit of it flipped, and has not been written over, or cut off, since. */
  get isRotten(): boolean {
    return this.rotten.size > 0;
  }

  /** What was written, without the bits that flipped since. */
  get written(): Buffer {
    const written = this.read(0, this.length);
    for (const [at, bits] of this.rotten) written.writeUInt8(written.readUInt8(at) ^ bits, at);
    return written;
  }

  /** What is there whatever happens to the power. */
  get synced(): Buffer {
    return Buffer.from(this.durable.subarray(0, this.dirtyFrom));
  }

  append(added: Buffer): void {
    this.changed(this.length);
    this.grow(this.length + added.length);
    added.copy(this.bytes, this.length);
    this.length += added.length;
  }

  writeAt(position: number, written: Buffer): void {
    this.changed(position);
    this.healed(position, position + written.length);
    written.copy(this.bytes, position);
  }

  read(position: number, length: number): Buffer {
    return Buffer.from(this.bytes.subarray(position, Math.min(this.length, position + length)));
  }

  /** The medium changes a bit by itself: no write, so what was synced there stays synced, with that bit. */
  flip(position: number, bit: number): void {
    assert(position < this.length, 'the byte is there');
    const flipIn = (bytes: Buffer, at: number): number =>
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
    flipIn(this.bytes, position);
    if (position < this.dirtyFrom) flipIn(this.durable, position);
    for (const { from, written } of this.syncs) {
      if (position >= from && position < from + written.length) flipIn(written, position - from);
    }
    const bits = (this.rotten.get(position) ?? 0) ^ (1 << bit);
    if (bits === 0) this.rotten.delete(position);
    else this.rotten.set(position, bits);
  }

  truncate(size: number): void {
    this.changed(Math.min(size, this.length));
    this.healed(size, Infinity);
    if (size > this.length) {
      this.grow(size);
      this.bytes.fill(0, this.length, size);
    }
    this.length = size;
  }

  /** What is there now is durable once the function that is given back was called: no sooner, and not what comes later. */
  beginSync(): () => void {
    const from = this.dirtyFrom;
    const written = Buffer.from(this.bytes.subarray(from, this.length));
    const sync: SyncUnderWay = { from, written, changedFrom: Infinity };
    this.syncs.add(sync);
    const number = (this.begunSyncs += 1);
    return () => {
      this.syncs.delete(sync);
      // One that began later has ended already, and covers this one.
      if (number < this.endedSync) return;
      this.endedSync = number;
      const kept = this.durable.subarray(0, from);
      this.durable = Buffer.concat([kept, written]);
      this.dirtyFrom = Math.min(this.durable.length, sync.changedFrom);
    };
  }

  private healed(from: number, to: number): void {
    for (const position of this.rotten.keys()) {
      if (position >= from && position < to) this.rotten.delete(position);
    }
  }

  private changed(from: number): void {
    this.dirtyFrom = Math.min(this.dirtyFrom, from);
    for (const sync of this.syncs) sync.changedFrom = Math.min(sync.changedFrom, from);
  }

  /** The power fails. */
  loseUnsynced(random: Random): void {
    const shorter = Math.min(this.length, this.durable.length, this.dirtyFrom);
    const longer = Math.max(this.length, this.durable.length);
    const size = shorter + Math.floor(random.next() * (longer - shorter + 1));
    this.healed(shorter, Infinity);
    const left = Buffer.alloc(size);
    this.durable.copy(left, 0, 0, Math.min(shorter, size));
    for (let at = shorter; at < size;) {
      const end = Math.min(size, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
      const fate = random.next();
      if (fate < 0.45) left.set(this.bytes.subarray(at, Math.min(end, this.length)), at);
      else if (fate < 0.9) left.set(this.durable.subarray(at, end), at);
      at = end;
    }
    this.bytes = left;
    this.length = size;
    this.durable = Buffer.from(left);
    this.dirtyFrom = size;
    this.syncs.clear();
  }

  private grow(needed: number): void {
    if (needed <= this.bytes.length) return;
    const bigger = Buffer.alloc(Math.max(needed, this.bytes.length * 2, 256));
    this.bytes.copy(bigger, 0, 0, this.length);
    this.bytes = bigger;
  }
}
