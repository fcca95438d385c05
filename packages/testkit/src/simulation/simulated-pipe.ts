/**
 * One direction of a conversation between two simulated machines. Invariant: events arrive in the order in which
 * they were posted, each after a delay; while that direction is partitioned nothing arrives, and what waited
 * arrives after healing, as TCP would send it again. Called by SimulatedNetwork and its streams.
 */
import type { Clock } from '@tributary/common';

/** What arrived, for whoever watches the network: the trace of a run. */
export interface NetworkArrival {
  readonly from: string;
  readonly to: string;
  /** `message`, `dial PATH`, `credit` and the like. */
  readonly what: string;
  /** Of a message. */
  readonly bytes?: Buffer;
}

export interface PipeWorld {
  readonly clock: Clock;
  nextDelayMs(): number;
  /** Nothing arrives now: they are partitioned, or the receiver is stopped. */
  isBlocked(from: string, to: string): boolean;
  /** This pipe holds something back: release it when the way is free again. */
  onHeld(pipe: SimulatedPipe): void;
  onArrival(arrival: NetworkArrival): void;
}

interface Posted {
  readonly what: string;
  readonly bytes: Buffer | undefined;
  readonly event: () => void;
}

export class SimulatedPipe {
  private lastArrival = 0;
  private held: Posted[] = [];

  constructor(
    private readonly world: PipeWorld,
    readonly from: string,
    readonly to: string,
  ) {}

  post(what: string, event: () => void, bytes?: Buffer): void {
    this.send({ what, bytes, event });
  }

  /** The way is free again. */
  release(): void {
    const waiting = this.held;
    this.held = [];
    for (const posted of waiting) this.send(posted);
  }

  private send(posted: Posted): void {
    const { clock } = this.world;
    this.lastArrival = Math.max(this.lastArrival, clock.now() + this.world.nextDelayMs());
    clock.setTimer(this.lastArrival - clock.now(), () => this.arrive(posted));
  }

  private arrive(posted: Posted): void {
    const { from, to, world } = this;
    if (this.held.length === 0 && !world.isBlocked(from, to)) {
      const { what, bytes, event } = posted;
      world.onArrival({ from, to, what, ...(bytes ? { bytes } : {}) });
      event();
      return;
    }
    this.held.push(posted);
    this.world.onHeld(this);
  }
}
