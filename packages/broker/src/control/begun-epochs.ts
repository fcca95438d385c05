/**
 * Which controller epochs there have been, as the coordinator knows: an epoch is written there before anybody acts in it,
 * so a higher one that somebody claims was made up. There is no authentication: an epoch out of the air must neither end
 * a controller's term nor keep the true ones out.
 *
 * Invariant: an answer was read after it was asked for. Called by the receiver and the elector.
 */
import { TributaryError, type Clock, type Logger } from '@tributary/common';

export interface BegunEpochsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The newest one, behind a barrier. */
  readonly read: () => Promise<number>;
  /** ms; what is not answered by then is not known. */
  readonly withinMs: number;
}

export class BegunEpochs {
  constructor(private readonly options: BegunEpochsOptions) {}

  /** undefined: the coordinator does not answer in time. */
  newest(): Promise<number | undefined> {
    const { clock, logger, read, withinMs } = this.options;
    return new Promise((resolve) => {
      const timer = clock.setTimer(withinMs, () => resolve(undefined));
      read()
        .then(resolve, (thrown: unknown) => {
          logger.debug('cannot read the controller epoch', { error: TributaryError.from(thrown) });
          resolve(undefined);
        })
        .finally(() => timer.cancel());
    });
  }

  /** Some claimed it, and it never began. */
  noteMadeUp(claimed: number, newest: number): void {
    this.options.logger.warn('a controller epoch was claimed that never began', {
      claimed,
      newest,
    });
  }
}
