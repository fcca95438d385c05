/**
 * Which replica of each partition should come first: no broker leads two partitions more than another that it could hand
 * one to, be it over others (augmenting paths, so the counts differ by at most one where the replicas are spread evenly).
 * Pure. Called by `placeReplicas`.
 */

/** `placed`: replicas by partition; answered with the preferred leader first, the others in their order. */
export function balanceLeaders(
  placed: readonly (readonly number[])[],
  mayLead: (brokerId: number) => boolean,
  alreadyLed: ReadonlyMap<number, number>,
): number[][] {
  const balance = new LeaderBalance(placed, mayLead, alreadyLed);
  return balance.settled();
}

class LeaderBalance {
  private readonly candidates: readonly (readonly number[])[];
  /** By partition. */
  private readonly leaders: number[] = [];
  private readonly led: Map<number, number>;

  constructor(
    private readonly placed: readonly (readonly number[])[],
    mayLead: (brokerId: number) => boolean,
    alreadyLed: ReadonlyMap<number, number>,
  ) {
    this.led = new Map(alreadyLed);
    this.candidates = placed.map((replicas) => {
      const able = replicas.filter(mayLead);
      return able.length > 0 ? able : replicas;
    });
    for (const able of this.candidates) {
      const least = able.reduce((a, b) => (this.count(b) < this.count(a) ? b : a));
      this.leaders.push(least);
      this.led.set(least, this.count(least) + 1);
    }
  }

  settled(): number[][] {
    while (this.improve());
    return this.placed.map((replicas, partition) => {
      const leader = this.leaders[partition] ?? -1;
      return [leader, ...replicas.filter((brokerId) => brokerId !== leader)];
    });
  }

  /** Each time the sum of the squared counts falls, so this ends. */
  private improve(): boolean {
    const busiest = [...new Set(this.leaders)].sort((a, b) => this.count(b) - this.count(a));
    return busiest.some((brokerId) => this.relieve(brokerId));
  }

  /** One partition less for `from`, handed on over others until one has room for it. */
  private relieve(from: number): boolean {
    const ledBy = new Map<number, number[]>();
    this.leaders.forEach((leader, partition) => {
      const others = ledBy.get(leader);
      if (others) others.push(partition);
      else ledBy.set(leader, [partition]);
    });
    const cameBy = new Map<number, number>();
    const reached = [from];
    for (const brokerId of reached) {
      for (const partition of ledBy.get(brokerId) ?? []) {
        for (const next of this.candidates[partition] ?? []) {
          if (next === from || cameBy.has(next)) continue;
          cameBy.set(next, partition);
          reached.push(next);
          if (this.count(next) > this.count(from) - 2) continue;
          this.handOn(from, next, cameBy);
          return true;
        }
      }
    }
    return false;
  }

  private handOn(from: number, to: number, cameBy: ReadonlyMap<number, number>): void {
    this.led.set(from, this.count(from) - 1);
    this.led.set(to, this.count(to) + 1);
    for (let brokerId = to; brokerId !== from;) {
      const partition = cameBy.get(brokerId) ?? -1;
      const before = this.leaders[partition] ?? from;
      this.leaders[partition] = brokerId;
      brokerId = before;
    }
  }

  private count(brokerId: number): number {
    return this.led.get(brokerId) ?? 0;
  }
}
