/**
 * Injects one fault after the other while load runs, drawn from the seed out of a table of kinds; several may be in force at
 * once. Invariant: each fault that was begun is ended, at the latest by `heal`. Called by SeedRun.
 */
import type { Timer } from '@tributary/common';
import { adminFaults } from './admin-faults';
import { coordinatorFaults } from './coordinator-faults';
import { diskFaults } from './disk-faults';
import type { FaultInForce, FaultKind } from './fault';
import type { FaultWorld } from './fault-world';
import { networkFaults } from './network-faults';
import { processFaults } from './process-faults';
import { rotFaults } from './rot-faults';
import { topicFaults } from './topic-faults';

export const faultKinds: readonly FaultKind[] = [
  ...networkFaults,
  ...processFaults,
  ...coordinatorFaults,
  ...diskFaults,
  ...rotFaults,
  ...topicFaults,
  ...adminFaults,
];

/** In force at once. */
const MAX_IN_FORCE = 4;

export class Nemesis {
  /** How often each kind was begun. */
  readonly counts = new Map<string, number>();
  private readonly inForce = new Map<FaultInForce, Timer>();
  private next: Timer | undefined;
  private healed = false;

  private readonly kinds: readonly FaultKind[];

  /** @param without names of kinds that are left out. */
  constructor(
    private readonly world: FaultWorld,
    without: readonly string[] = [],
  ) {
    this.kinds = faultKinds.filter(({ name }) => !without.includes(name));
  }

  get faults(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  start(): void {
    const { world } = this;
    const waitMs = world.parts.plan.faultIntervalMs * (0.2 + 1.6 * world.random.next());
    this.next = world.cluster.clock.setTimer(waitMs, () => {
      if (this.inForce.size < MAX_IN_FORCE) this.strike();
      this.start();
    });
  }

  /** Ends every fault and begins no more. */
  heal(): void {
    this.healed = true;
    this.next?.cancel();
    for (const [fault, timer] of [...this.inForce]) {
      timer.cancel();
      this.end(fault);
    }
    const { cluster } = this.world;
    cluster.heal();
    for (const id of cluster.brokerIds) {
      cluster.broker(id).disk.failNoMore();
      cluster.broker(id).resume();
    }
  }

  private strike(): void {
    const kind = this.choose();
    const fault = kind.start(this.world);
    if (!fault) return;
    this.counts.set(kind.name, (this.counts.get(kind.name) ?? 0) + 1);
    const { cluster } = this.world;
    cluster.note(`FAULT ${kind.name}: ${fault.text}`);
    if (fault.lastsMs === undefined) return;
    const timer = cluster.clock.setTimer(fault.lastsMs, () => {
      cluster.note(`END ${kind.name}: ${fault.text}`);
      this.end(fault);
    });
    this.inForce.set(fault, timer);
  }

  private end(fault: FaultInForce): void {
    if (this.inForce.delete(fault)) fault.end?.();
  }

  private choose(): FaultKind {
    const total = this.kinds.reduce((sum, { weight }) => sum + weight, 0);
    let at = this.world.random.next() * total;
    for (const kind of this.kinds) {
      at -= kind.weight;
      if (at < 0) return kind;
    }
    return this.kinds[0]!;
  }
}
