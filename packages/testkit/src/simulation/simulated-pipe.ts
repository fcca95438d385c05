/**
 * One direction of a conversation between two simulated machines. Invariant: events arrive in the order in which
 * they were posted, each after a delay; while that direction is partitioned nothing arrives, and what waited
 * arrives after healing, as TCP would send it again. Called by SimulatedNetwork and its streams.
 */
import type { Clock } from '@tributary/common';

export interface PipeWorld {
  readonly clock: Clock;
  nextDelayMs(): number;
  isPartitioned(from: string, to: string): boolean;
  /** This pipe holds something back: release it when the partition heals. */
  onHeld(pipe: SimulatedPipe): void;
}

export class SimulatedPipe {
  private lastArrival = 0;
  private held: (() => void)[] = [];

  constructor(
    private readonly world: PipeWorld,
    readonly from: string,
    readonly to: string,
  ) {}

  post(event: () => void): void {
    const { clock } = this.world;
    this.lastArrival = Math.max(this.lastArrival, clock.now() + this.world.nextDelayMs());
    clock.setTimer(this.lastArrival - clock.now(), () => this.arrive(event));
  }

  /** The partition is over. */
  release(): void {
    const waiting = this.held;
    this.held = [];
    for (const event of waiting) this.post(event);
  }

  private arrive(event: () => void): void {
    if (this.held.length === 0 && !this.world.isPartitioned(this.from, this.to)) {
      event();
      return;
    }
    this.held.push(event);
    this.world.onHeld(this);
  }
}
