/**
 * Timers in the order in which they fire: by due time, then by their making. A binary heap, because a simulated cluster
 * sets and cancels thousands of them. A cancelled one stays until it is due, and is skipped then. Called by SimulatedClock.
 */
export interface HeapTimer {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

export class TimerHeap {
  private readonly entries: HeapTimer[] = [];
  private cancelledCount = 0;

  /** Not cancelled. */
  get size(): number {
    return this.entries.length - this.cancelledCount;
  }

  push(entry: HeapTimer): void {
    const { entries } = this;
    let at = entries.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, entries[parent]!)) break;
      entries[at] = entries[parent]!;
      at = parent;
    }
    entries[at] = entry;
  }

  cancel(entry: HeapTimer): void {
    if (entry.cancelled) return;
    entry.cancelled = true;
    this.cancelledCount += 1;
  }

  /** The next one that is not cancelled. */
  peek(): HeapTimer | undefined {
    for (;;) {
      const first = this.entries[0];
      if (!first?.cancelled) return first;
      this.cancelledCount -= 1;
      this.removeFirst();
    }
  }

  /** After a `peek` that found one. It counts as cancelled from now on: cancelling it again changes nothing. */
  pop(): HeapTimer | undefined {
    const first = this.peek();
    if (first) {
      this.removeFirst();
      first.cancelled = true;
    }
    return first;
  }

  private removeFirst(): void {
    const { entries } = this;
    const last = entries.pop()!;
    if (entries.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= entries.length) break;
      const right = entries[child + 1];
      if (right && before(right, entries[child]!)) child += 1;
      if (!before(entries[child]!, last)) break;
      entries[at] = entries[child]!;
      at = child;
    }
    entries[at] = last;
  }
}

function before(one: HeapTimer, other: HeapTimer): boolean {
  return one.due !== other.due ? one.due < other.due : one.order < other.order;
}
