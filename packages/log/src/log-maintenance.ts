/**
 * Work on the logs of a directory that no request waits for: retention, compaction. One duty after another, one
 * round every `maintenanceIntervalMs`. Invariant: a round never throws, never overlaps another one, and gives the
 * event loop back at least every `SLICE_MS`; what fails in one log keeps no other log waiting. Made by
 * the log directory.
 */
import { sleep, type Clock, type Logger, type Timer } from '@tributary/common';
import type { Log } from './log';

/** Between two rounds. Kafka looks every 5 minutes; looking costs us little, and disks fill up in less. */
export const MAINTENANCE_INTERVAL_MS = 30_000;
/** Before the first round: the controller tells the settings of the topics first, and clients come before. */
export const FIRST_MAINTENANCE_MS = 5_000;
/** So long a round may hold the event loop. */
const SLICE_MS = 10;

/** One kind of work. Looks after all logs itself, because some kinds choose which one needs it most. */
export interface MaintenanceDuty {
  readonly name: string;
  /** May reject: it is logged, and the next round tries again. A log may be closed or fail at any `await`. */
  run(logs: readonly Log[], pace: MaintenancePace): Promise<void>;
  /** Of a kind that goes on in the background: resolves when nothing of it is under way any more. */
  stop?(): Promise<void>;
}

export interface MaintenancePace {
  /** The directory closes: the duty should return soon. */
  readonly stopping: boolean;
  /** To be awaited between steps that each take less than a slice; lets others run when the slice is over. */
  pause(): Promise<void>;
}

export interface LogMaintenanceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logs: () => readonly Log[];
  readonly duties: readonly MaintenanceDuty[];
  /** Default `MAINTENANCE_INTERVAL_MS`. */
  readonly intervalMs?: number;
}

export class LogMaintenance {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(private readonly options: LogMaintenanceOptions) {}

  start(): void {
    this.arm(Math.min(FIRST_MAINTENANCE_MS, this.intervalMs));
  }

  /** A whole round from now on; one that is under way is waited for first. Never rejects. */
  async run(): Promise<void> {
    while (this.running) await this.running;
    if (this.stopped) return;
    this.running = this.round().finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** Resolves when nothing is under way any more. Idempotent. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    const stops = this.options.duties.map((duty) => duty.stop?.());
    await Promise.all([this.running, ...stops]);
  }

  private get intervalMs(): number {
    return this.options.intervalMs ?? MAINTENANCE_INTERVAL_MS;
  }

  private arm(delayMs: number): void {
    const again = (): void => {
      if (!this.stopped) this.arm(this.intervalMs);
    };
    this.timer = this.options.clock.setTimer(delayMs, () => void this.run().then(again), {
      unref: true,
    });
  }

  private async round(): Promise<void> {
    const pace = this.newPace();
    for (const duty of this.options.duties) {
      if (this.stopped) return;
      try {
        await duty.run(this.options.logs(), pace);
      } catch (error) {
        const { logger } = this.options;
        logger.warn('log maintenance failed, the next round tries again', {
          duty: duty.name,
          error,
        });
      }
    }
  }

  private newPace(): MaintenancePace {
    const { clock } = this.options;
    const isStopped = (): boolean => this.stopped;
    let sliceBegan = clock.now();
    return {
      get stopping() {
        return isStopped();
      },
      async pause() {
        if (clock.now() - sliceBegan < SLICE_MS) return;
        await sleep(clock, 0);
        sliceBegan = clock.now();
      },
    };
  }
}
