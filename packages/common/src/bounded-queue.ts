/**
 * First in, first out, with a limit: `push` refuses instead of growing. A ring of a power of two that grows
 * up to the limit. Used wherever work waits: event queues, send queues, waiters.
 */
export class BoundedQueue<T> {
  private ring: (T | undefined)[] = new Array<T | undefined>(8);
  private head = 0;
  private count = 0;

  constructor(readonly maxEntries: number) {}

  get length(): number {
    return this.count;
  }

  /** False, and nothing happens, when the queue is full. */
  push(entry: T): boolean {
    if (this.count >= this.maxEntries) return false;
    if (this.count === this.ring.length) this.grow();
    this.ring[(this.head + this.count) & (this.ring.length - 1)] = entry;
    this.count += 1;
    return true;
  }

  shift(): T | undefined {
    if (this.count === 0) return undefined;
    const entry = this.ring[this.head];
    this.ring[this.head] = undefined;
    this.head = (this.head + 1) & (this.ring.length - 1);
    this.count -= 1;
    return entry;
  }

  peek(): T | undefined {
    return this.count === 0 ? undefined : this.ring[this.head];
  }

  /** Removes and returns all, oldest first. */
  drain(): T[] {
    const entries: T[] = [];
    while (this.count > 0) entries.push(this.shift() as T);
    return entries;
  }

  private grow(): void {
    const bigger = new Array<T | undefined>(this.ring.length * 2);
    for (let i = 0; i < this.count; i += 1) {
      bigger[i] = this.ring[(this.head + i) & (this.ring.length - 1)];
    }
    this.ring = bigger;
    this.head = 0;
  }
}
