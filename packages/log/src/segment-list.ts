/**
 * The segments of one log, by base offset; the last one is written to. Invariant: never empty, base offsets
 * rise. Keeps the indexes of a few sealed segments in memory, the ones used last. Called by log and reader.
 */
import { assert } from '@tributary/common';
import { segmentName, type Segment } from './segment';

/** Sealed segments per log whose indexes stay in memory. */
const LOADED_SEALED_MAX = 4;

const SEGMENT_FILE = /^([0-9]{20})\.(log|index|timeindex|seal)$/;

export class SegmentList {
  private readonly list: Segment[];
  private readonly recentlyUsed: Segment[] = [];
  /** Sealed ones, of which the files beside the log are not up to date yet. */
  private readonly unstored = new Set<Segment>();

  constructor(segments: readonly Segment[]) {
    assert(segments.length > 0, 'a log has at least one segment');
    this.list = [...segments];
  }

  get all(): readonly Segment[] {
    return this.list;
  }

  get first(): Segment {
    return this.list[0] as Segment;
  }

  get active(): Segment {
    return this.list[this.list.length - 1] as Segment;
  }

  /** The segment in which `offset` lies or would lie; the first one when it is below all. */
  containing(offset: number): Segment {
    return this.list[this.indexOf(offset)] as Segment;
  }

  /** About how many bytes lie from `offset` on. By the sizes of segments alone: no file is read for it. */
  bytesFrom(offset: number): number {
    const at = this.indexOf(offset);
    const holder = this.list[at] as Segment;
    const end = this.list[at + 1]?.baseOffset ?? holder.nextOffset;
    const share = (end - offset) / Math.max(1, end - holder.baseOffset);
    const within = holder.size * Math.min(1, Math.max(0, share));
    return this.list.slice(at + 1).reduce((sum, { size }) => sum + size, Math.round(within));
  }

  after(segment: Segment): Segment | undefined {
    return this.list[this.list.indexOf(segment) + 1];
  }

  /** Those that hold or may hold offsets in [from, to). */
  within(from: number, to: number): Segment[] {
    return this.list.slice(this.indexOf(from)).filter((segment) => segment.baseOffset < to);
  }

  /** What must be written, beside the log, before the log counts as flushed up to `below`. */
  toStore(below: number): Segment[] {
    return [...this.unstored].filter((segment) => segment.baseOffset < below);
  }

  mustStore(segment: Segment): void {
    this.unstored.add(segment);
  }

  /** It was. */
  stored(segment: Segment): void {
    this.unstored.delete(segment);
    const isInUse = segment === this.active || this.recentlyUsed.includes(segment);
    if (!isInUse) segment.unloadIndexes();
  }

  add(segment: Segment): void {
    assert(segment.baseOffset > this.active.baseOffset, 'segments rise');
    const sealed = this.active;
    this.list.push(segment);
    this.unstored.add(sealed);
    this.touch(sealed);
  }

  /** Takes out those that begin at `offset` or later, newest first, but never the first one. */
  removeFrom(offset: number): Segment[] {
    const removed: Segment[] = [];
    while (this.list.length > 1 && this.active.baseOffset >= offset) {
      removed.push(this.list.pop() as Segment);
    }
    for (const segment of [...removed, this.active]) this.forget(segment);
    return removed;
  }

  /** Takes out the first one, if all that it holds lies below `offset`; never the active one. */
  removeFirstBelow(offset: number): Segment | undefined {
    const [oldest, following] = this.list;
    if (!oldest || !following || following.baseOffset > offset) return undefined;
    this.list.shift();
    this.forget(oldest);
    return oldest;
  }

  /** Are these sealed segments of the list, one after another? */
  hasRun(segments: readonly Segment[]): boolean {
    const at = this.list.indexOf(segments[0] as Segment);
    if (at < 0 || segments.includes(this.active)) return false;
    return segments.every((segment, i) => this.list[at + i] === segment);
  }

  /** One segment takes the place of a run of sealed ones; their files are the caller's. */
  replace(run: readonly Segment[], segment: Segment): void {
    assert(this.hasRun(run), 'sealed neighbours are replaced');
    this.list.splice(this.list.indexOf(run[0] as Segment), run.length, segment);
    for (const replaced of run) this.forget(replaced);
    this.touch(segment);
  }

  /** Removes all, newest first, and goes on with another one. */
  replaceAll(create: () => Segment): void {
    for (const segment of this.list.toReversed()) segment.remove();
    this.recentlyUsed.length = 0;
    this.unstored.clear();
    const segment = create();
    this.list.splice(0, this.list.length, segment);
  }

  /** It is about to be read. */
  touch(segment: Segment): void {
    segment.used();
    if (segment === this.active || this.recentlyUsed.at(-1) === segment) return;
    const at = this.recentlyUsed.indexOf(segment);
    if (at >= 0) this.recentlyUsed.splice(at, 1);
    this.recentlyUsed.push(segment);
    if (this.recentlyUsed.length > LOADED_SEALED_MAX) this.recentlyUsed.shift()?.unloadIndexes();
  }

  /** It is sealed no more, or not part of the log. */
  private forget(segment: Segment): void {
    const at = this.recentlyUsed.indexOf(segment);
    if (at >= 0) this.recentlyUsed.splice(at, 1);
    this.unstored.delete(segment);
  }

  private indexOf(offset: number): number {
    let low = 0;
    let high = this.list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.list[middle] as Segment).baseOffset <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/**
 * Base offsets of the segments whose `.log` is among these names, rising; index files that have none; and what a
 * deletion up to `logStartOffset` has left: with a hole in it, perhaps, where only some removals are on the device.
 */
export function findSegments(
  names: readonly string[],
  logStartOffset = 0,
): {
  readonly baseOffsets: number[];
  readonly orphans: string[];
  readonly deleted: string[];
} {
  const found = names
    .map((name) => SEGMENT_FILE.exec(name))
    .filter((match) => match?.[2] === 'log')
    .map((match) => Number(match?.[1]))
    .sort((a, b) => a - b);
  const baseOffsets = found.filter((_, i) => (found[i + 1] ?? Infinity) > logStartOffset);
  const known = new Set(baseOffsets.map(segmentName));
  const gone = new Set(found.map(segmentName).filter((name) => !known.has(name)));
  const orphans: string[] = [];
  const deleted: string[] = [];
  for (const name of names) {
    const base = SEGMENT_FILE.exec(name)?.[1];
    if (base === undefined || known.has(base)) continue;
    (gone.has(base) ? deleted : orphans).push(name);
  }
  return { baseOffsets, orphans, deleted };
}
