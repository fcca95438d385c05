import { PushQueue, type Pushable } from './push-queue';

/** An attach with so many pushes to make; a cold one reads each from the disk before. */
class FakeAttach implements Pushable {
  queued = false;
  live = true;
  private readState: 'none' | 'reading' | 'there' = 'none';

  constructor(
    readonly name: string,
    private left: number,
    private readonly cold = false,
  ) {}

  get hasMore(): boolean {
    return this.live && this.left > 0 && this.readState !== 'reading';
  }

  get wantsColdRead(): boolean {
    return this.cold && this.hasMore && this.readState === 'none';
  }

  get holdsColdRead(): boolean {
    return this.readState !== 'none';
  }

  /** Answers the bytes that went. */
  push(): number {
    if (!this.live) return 0;
    if (this.wantsColdRead) {
      this.readState = 'reading';
      return 0;
    }
    this.readState = 'none';
    this.left -= 1;
    return 10;
  }

  readDone(): void {
    this.readState = this.live ? 'there' : 'none';
  }
}

function world(maxColdPushes = 2): {
  queue: PushQueue<FakeAttach>;
  pushed: string[];
  reading: () => string[];
  add: (...attaches: FakeAttach[]) => void;
} {
  const pushed: string[] = [];
  const all: FakeAttach[] = [];
  const queue = new PushQueue<FakeAttach>(
    (attach) => {
      const bytes = attach.push();
      if (bytes > 0) pushed.push(attach.name);
      return bytes;
    },
    maxColdPushes,
    undefined,
  );
  return {
    queue,
    pushed,
    reading: () => all.filter((one) => one.holdsColdRead).map(({ name }) => name),
    add: (...attaches) => {
      all.push(...attaches);
      for (const attach of attaches) queue.add(attach);
    },
  };
}

const turn = (): Promise<void> => Promise.resolve();

describe('whose turn it is', () => {
  it('is decided in turn, so that one that has much holds up nobody', async () => {
    const w = world();
    w.add(new FakeAttach('far', 4), new FakeAttach('near', 1), new FakeAttach('next', 2));
    await turn();
    expect(w.pushed).toEqual(['far', 'near', 'next', 'far', 'next', 'far', 'far']);
  });

  it('a full stream stops, and goes on where it was', async () => {
    const w = world();
    w.queue.block();
    w.add(new FakeAttach('a', 2), new FakeAttach('b', 1));
    await turn();
    expect(w.pushed).toEqual([]);
    w.queue.drained();
    expect(w.pushed).toEqual(['a', 'b', 'a']);
  });

  it('only so many read from the disk ahead of their turn; those that are hot do not wait for them', async () => {
    const w = world(2);
    const cold = ['c1', 'c2', 'c3', 'c4'].map((name) => new FakeAttach(name, 1, true));
    w.add(...cold, new FakeAttach('hot', 1));
    await turn();
    expect(w.reading()).toEqual(['c1', 'c2']);
    expect(w.pushed).toEqual(['hot']);
    cold[0]!.readDone();
    w.queue.readDone(cold[0]!);
    await turn();
    expect(w.pushed).toEqual(['hot', 'c1']);
    expect(w.reading()).toEqual(['c2', 'c3']);
  });

  it('one that ends while it is read for gives its place to those that wait', async () => {
    const w = world(1);
    const ends = new FakeAttach('ends', 1, true);
    w.add(ends, new FakeAttach('waits', 1, true));
    await turn();
    expect(w.reading()).toEqual(['ends']);
    ends.live = false;
    ends.readDone();
    w.queue.readDone(ends);
    await turn();
    expect(w.reading()).toEqual(['waits']);
  });
});
