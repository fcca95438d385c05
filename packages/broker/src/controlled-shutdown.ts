/**
 * The broker's part of a controlled shutdown: asks the controller to move leaderships away and waits until none
 * is left, nobody can take the rest, or the time is over. Never fails: what was not handed over is elected
 * away when this broker is gone. Called by Broker.stop.
 */
import { Deadline, sleep, TributaryError, type Clock, type Logger } from '@tributary/common';

export interface ControlledShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  /** Answers how many partitions this broker still leads. */
  ask(timeoutMs: number): Promise<number>;
}

const retryMs = 200;

export async function handOverLeaderships(options: ControlledShutdownOptions): Promise<void> {
  const { clock, logger, timeoutMs } = options;
  const deadline = Deadline.after(clock, timeoutMs);
  let before: number | undefined;
  while (!deadline.expired) {
    try {
      const stillLeading = await options.ask(deadline.remainingMs);
      if (stillLeading === 0) return;
      // Twice the same answer: nobody in sync is there to take them.
      if (stillLeading === before) {
        return logger.info('stopping while leading what nobody can take over', { stillLeading });
      }
      before = stillLeading;
    } catch (thrown) {
      logger.debug('controlled shutdown', { error: TributaryError.from(thrown) });
    }
    await sleep(clock, Math.min(retryMs, deadline.remainingMs));
  }
  logger.warn('stopping before all leaderships were handed over', { timeoutMs });
}
