/**
 * Hellos of controllers that know of this broker's registration before this broker does: its own coordinator has not
 * answered yet. Each is held until it has, at most `holdMs`, and greeted then, for a refusal would pass for the death of this
 * process. Bounded by `maxEarlyHellos`. Called by the receiver.
 */
import type { Clock, Timer } from '@tributary/common';

/** One controller dials once at a time; more than a few are none of ours. */
export const maxEarlyHellos = 16;

export class EarlyHellos {
  private readonly held = new Map<() => void, Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly holdMs: number,
  ) {}

  hold(greet: () => void): void {
    if (this.held.size >= maxEarlyHellos) return greet();
    const timer = this.clock.setTimer(this.holdMs, () => {
      this.held.delete(greet);
      greet();
    });
    this.held.set(greet, timer);
  }

  /** The registration is known now; or none will come. */
  release(): void {
    const held = [...this.held];
    this.held.clear();
    for (const [greet, timer] of held) {
      timer.cancel();
      greet();
    }
  }
}
