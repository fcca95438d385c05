/**
 * One life of a named machine of the simulated network: from its transport until it crashes or closes.
 * Called by SimulatedNetwork, which makes another one when the machine comes back.
 */
import type { Clock } from '@tributary/common';
import { ProcessClock } from './process-clock';

export interface BreakableStream {
  readonly side: { readonly pipe: { readonly to: string } };
  lost(): void;
  crashed(): void;
}

export class SimulatedMachine {
  readonly streams = new Set<BreakableStream>();
  private state: 'alive' | 'crashed' | 'closed' = 'alive';
  /** It was stopped for so long that its peers gave up their streams. */
  missedKeepalive = false;
  /** Stops with a crash. */
  readonly clock: ProcessClock;

  constructor(
    readonly name: string,
    clock: Clock,
  ) {
    this.clock = new ProcessClock(clock);
  }

  get alive(): boolean {
    return this.state !== 'crashed';
  }

  /** Another life may begin. */
  get over(): boolean {
    return this.state !== 'alive';
  }

  crash(): void {
    if (this.over) return;
    this.state = 'crashed';
    this.clock.die();
    for (const stream of [...this.streams]) stream.crashed();
    this.streams.clear();
  }

  close(): void {
    if (!this.over) this.state = 'closed';
  }

  /** The other machine was silent for too long. */
  loseStreamsTo(other: string): void {
    for (const stream of [...this.streams]) {
      if (stream.side.pipe.to === other) stream.lost();
    }
  }
}
