/**
 * How much memory the indexes of a log directory take. Invariant: above the limit only what cannot be unloaded is
 * loaded, namely indexes of segments that are written to (each bounded by segment.index.bytes), and the one used
 * last. Called by segments when they load, use and drop their indexes.
 */

/** Of all segments in one log directory. */
export const INDEX_MEMORY_BYTES_MAX = 64 * 1024 * 1024;

export interface LoadedIndexes {
  readonly indexBytesInMemory: number;
  /** May do nothing, when the files do not have it all. */
  unloadIndexes(): void;
}

export class IndexMemory {
  /** The one used last at the end. */
  private readonly loaded = new Map<LoadedIndexes, number>();
  private latest: LoadedIndexes | undefined;
  private total = 0;

  constructor(private readonly bytesMax = INDEX_MEMORY_BYTES_MAX) {}

  get bytes(): number {
    return this.total;
  }

  /** It is loaded, and may have grown. */
  used(one: LoadedIndexes): void {
    const bytes = one.indexBytesInMemory;
    const known = this.loaded.get(one);
    if (one === this.latest && known === bytes) return;
    this.total += bytes - (known ?? 0);
    this.latest = one;
    this.loaded.delete(one);
    this.loaded.set(one, bytes);
    if (this.total > this.bytesMax) this.makeRoom(one);
  }

  /** It is not loaded any more. */
  dropped(one: LoadedIndexes): void {
    this.total -= this.loaded.get(one) ?? 0;
    this.loaded.delete(one);
    if (one === this.latest) this.latest = undefined;
  }

  private makeRoom(user: LoadedIndexes): void {
    for (const one of [...this.loaded.keys()]) {
      if (this.total <= this.bytesMax) return;
      if (one !== user) one.unloadIndexes();
    }
  }
}
