/**
 * Tells the data plane whether this broker may be a zombie: neither the coordinator nor a controller has been
 * heard for `zombieGraceMs`. Then acks 0 and 1 are refused; acks=all and reads go on, for they need others or
 * were committed. A controller on this very broker knows no more than the broker itself, so its stream
 * counts only as far as it hears a majority of the others.
 * Called by Broker.
 */
import type { Clock, Timer } from '@tributary/common';

export interface IsolationSources {
  coordinatorSilentForMs(): number;
  controllerSilentForMs(): number;
}

/** How often it is looked at. */
export const isolationCheckMs = 200;

export class IsolationMonitor {
  private timer: Timer | undefined;
  private current = false;

  constructor(
    private readonly clock: Clock,
    private readonly zombieGraceMs: number,
    private readonly sources: IsolationSources,
    private readonly onChange: (isolated: boolean) => void,
  ) {}

  get isolated(): boolean {
    return this.current;
  }

  start(): void {
    this.timer = this.clock.setTimer(isolationCheckMs, () => {
      this.start();
      this.check();
    });
  }

  stop(): void {
    this.timer?.cancel();
  }

  private check(): void {
    const { sources, zombieGraceMs } = this;
    const isolated =
      sources.coordinatorSilentForMs() >= zombieGraceMs &&
      sources.controllerSilentForMs() >= zombieGraceMs;
    if (isolated === this.current) return;
    this.current = isolated;
    this.onChange(isolated);
  }
}
