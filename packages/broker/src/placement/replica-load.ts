/**
 * What each broker and rack carries while replicas are placed, and who should carry the next one. Invariant: a broker is
 * chosen for a partition at most once. Called by `placeReplicas` and by the moves of a decommission.
 */
import { randomInteger, type Random } from '@tributary/common';
import type { BrokerDuty, RegisteredBroker } from '@tributary/coordination';

export interface PlacementBroker {
  readonly brokerId: number;
  /** undefined: those without a rack count as one. */
  readonly rack: string | undefined;
  /** False of drained ones: they are named leader only where no other replica is left. */
  readonly mayLead: boolean;
}

/** Those of `registered` that may get replicas: not the decommissioned ones. */
export function placementBrokers(
  registered: readonly Pick<RegisteredBroker, 'brokerId' | 'rack'>[],
  dutyOf: (brokerId: number) => BrokerDuty,
): PlacementBroker[] {
  return registered
    .filter(({ brokerId }) => dutyOf(brokerId) !== 'decommissioned')
    .map(({ brokerId, rack }) => ({
      brokerId,
      rack,
      mayLead: dutyOf(brokerId) === 'in service',
    }));
}

export class ReplicaLoad {
  private readonly replicas = new Map<number, number>();
  private readonly rackReplicas = new Map<string, number>();
  private readonly rackSizes = new Map<string, number>();
  private readonly racks = new Map<number, string>();
  private readonly together = new Map<string, number>();

  constructor(
    private readonly brokers: readonly PlacementBroker[],
    private readonly random: Random,
  ) {
    for (const { brokerId, rack = '' } of brokers) {
      this.racks.set(brokerId, rack);
      add(this.rackSizes, rack, 1);
    }
  }

  /** One partition more lies on these brokers, or with -1 one less; those that are unknown here do not count. */
  count(replicas: readonly number[], by: 1 | -1 = 1): void {
    for (const brokerId of replicas) {
      const rack = this.racks.get(brokerId);
      if (rack === undefined) continue;
      add(this.replicas, brokerId, by);
      add(this.rackReplicas, rack, by);
      for (const other of replicas)
        if (other !== brokerId) add(this.together, pair(brokerId, other), by);
    }
  }

  /**
   * A broker for one more replica of the partition that lies on `chosen`: of the rack that has the fewest of them, then of
   * the least loaded rack, then the least loaded broker, then the one that has the fewest partitions in common with
   * `chosen`, then at random. undefined: all have one.
   */
  next(chosen: readonly number[]): number | undefined {
    const inRack = new Map<string, number>();
    for (const brokerId of chosen) add(inRack, this.racks.get(brokerId) ?? '', 1);
    const free = this.shuffled().filter(({ brokerId }) => !chosen.includes(brokerId));
    const cost = ({ brokerId, rack = '' }: PlacementBroker): number[] => [
      inRack.get(rack) ?? 0,
      (this.rackReplicas.get(rack) ?? 0) / (this.rackSizes.get(rack) ?? 1),
      this.replicas.get(brokerId) ?? 0,
      chosen.reduce((sum, other) => sum + (this.together.get(pair(brokerId, other)) ?? 0), 0),
    ];
    const costs = free.map((broker) => ({ broker, cost: cost(broker) }));
    const best = costs.reduce<(typeof costs)[number] | undefined>(
      (least, each) => (least && !isLess(each.cost, least.cost) ? least : each),
      undefined,
    );
    return best?.broker.brokerId;
  }

  private shuffled(): PlacementBroker[] {
    const order = [...this.brokers];
    for (let last = order.length - 1; last > 0; last -= 1) {
      const other = randomInteger(this.random, last + 1);
      const [a, b] = [order[last], order[other]];
      if (a && b) [order[last], order[other]] = [b, a];
    }
    return order;
  }
}

function add<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

function pair(a: number, b: number): string {
  return a < b ? `${a}/${b}` : `${b}/${a}`;
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const index = a.findIndex((cost, at) => cost !== b[at]);
  return index >= 0 && (a[index] ?? 0) < (b[index] ?? 0);
}
