/**
 * Sees to it that the cluster has a controller, and that this broker is it when it wins: at an election, or by replacing
 * one that is lost (`succession/`). Runs only while this broker is registered. The loss of office by session expiry, by
 * a newer controller, or by its own decision all end the term; only the last one has `/controller` to remove.
 *
 * Invariant: at most one term at a time; what an election answers is dropped when the session it was made in
 * is over. Called by Broker.
 */
import {
  backoffMs,
  hasCode,
  randomInteger,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type {
  ControllerElection,
  ControllerFence,
  CurrentController,
  Watch,
} from '@tributary/coordination';
import type { BegunEpochs } from '../control/begun-epochs';
import type { ControlLimits } from '../control-limits';
import type { Controller } from './controller';

export interface ControllerElectorOptions {
  readonly brokerId: number;
  readonly election: ControllerElection;
  readonly epochs: BegunEpochs;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  makeController(fence: ControllerFence, onResigned: (why: string) => void): Controller;
  /** Another broker is in office; undefined: nobody is, or this one, or this one is not registered. */
  onFollow(reign: CurrentController | undefined): void;
}

export class ControllerElector {
  private watch: Watch | undefined;
  private current: CurrentController | undefined;
  private term: { readonly fence: ControllerFence; readonly controller: Controller } | undefined;
  /** Grows with each registration and its end: what belongs to an earlier one is void. */
  private session = 0;
  private isEnabled = false;
  private isTrying = false;
  private timer: Timer | undefined;
  private attempt = 0;
  /** The highest epoch that somebody claimed and nobody has checked yet. */
  private claimed = -1;
  private isChecking = false;
  /** After an own resignation others get a moment to take over. */
  private notBefore = 0;

  constructor(private readonly options: ControllerElectorOptions) {}

  get controller(): Controller | undefined {
    return this.term?.controller;
  }

  /** This broker is registered (again). */
  enable(): void {
    this.session += 1;
    this.isEnabled = true;
    this.watch ??= this.options.election.watch((current) => this.onChange(current));
    this.tellWhomToFollow();
    if (!this.current) this.tryAfter(0);
  }

  /** The session is over: so is the term, and `/controller` with it. */
  disable(): void {
    this.session += 1;
    this.isEnabled = false;
    this.timer?.cancel();
    this.term?.controller.stop();
    this.term = undefined;
    this.tellWhomToFollow();
  }

  /** Somebody claims this epoch: a term of a lower one is over, unless the coordinator knows that it never began. */
  noticeEpoch(controllerEpoch: number): void {
    const { term } = this;
    if (!term || term.fence.controllerEpoch >= controllerEpoch) return;
    this.claimed = Math.max(this.claimed, controllerEpoch);
    if (!this.isChecking) void this.checkClaims();
  }

  /** Takes over from this very reign, which is lost. Resolves when it is known who is in office. */
  async preempt(reign: CurrentController): Promise<void> {
    if (this.options.clock.now() >= this.notBefore) await this.tryNow(reign);
  }

  /** The last thing that a controller does before its broker goes. */
  async stop(): Promise<void> {
    const { term } = this;
    this.disable();
    this.watch?.stop();
    this.watch = undefined;
    if (!term) return;
    try {
      await this.options.election.resign(term.fence);
    } catch (thrown) {
      // The end of the session removes it as well.
      this.options.logger.debug('could not resign', { error: TributaryError.from(thrown) });
    }
  }

  /** As a crash. */
  kill(): void {
    this.disable();
    this.watch?.stop();
  }

  /** One at a time, however many there are. */
  private async checkClaims(): Promise<void> {
    const { epochs } = this.options;
    this.isChecking = true;
    while (this.claimed >= 0) {
      const { term, claimed } = this;
      this.claimed = -1;
      const newest = await epochs.newest();
      if (!term || term !== this.term) continue;
      const own = term.fence.controllerEpoch;
      // Not known: whoever is cut off from the coordinator is more likely deposed than lied to.
      if (newest === undefined || newest > own) {
        term.controller.resign(`controller epoch ${claimed} was seen`);
      } else epochs.noteMadeUp(claimed, newest);
    }
    this.isChecking = false;
  }

  private onChange(current: CurrentController | undefined): void {
    this.setCurrent(current);
    if (!this.isEnabled) return;
    if (this.term) void this.verifyOffice();
    else if (!current) this.tryAfter(randomInteger(this.options.random, this.electionDelayMs));
  }

  private setCurrent(current: CurrentController | undefined): void {
    this.current = current;
    this.tellWhomToFollow();
  }

  private tellWhomToFollow(): void {
    const { current, term, isEnabled } = this;
    const isAnother = current !== undefined && current.brokerId !== this.options.brokerId;
    this.options.onFollow(isEnabled && !term && isAnother ? current : undefined);
  }

  private get electionDelayMs(): number {
    return this.options.limits.electionDelayMs;
  }

  private tryAfter(delayMs: number): void {
    const { clock } = this.options;
    this.timer?.cancel();
    const waitMs = Math.max(delayMs, this.notBefore - clock.now());
    this.timer = clock.setTimer(waitMs, () => void this.tryNow());
  }

  private async tryNow(replacing?: CurrentController): Promise<void> {
    if (!this.isEnabled || this.term || this.isTrying) return;
    const { session } = this;
    const { election, brokerId, logger } = this.options;
    this.isTrying = true;
    try {
      const result = await election.elect(brokerId, replacing);
      this.attempt = 0;
      if (session !== this.session) return;
      if (result.won) this.takeOffice(result.fence);
      else {
        this.setCurrent(result.current);
        // Gone again meanwhile, or ours from an attempt whose answer was lost: look again.
        if (!result.current || result.current.brokerId === brokerId) this.retry();
      }
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      logger.debug('election attempt failed', { error });
      if (session === this.session) this.retry();
    } finally {
      this.isTrying = false;
      // A new session that wanted to try meanwhile.
      if (session !== this.session && this.isEnabled && !this.current) this.tryAfter(0);
    }
  }

  private retry(): void {
    this.tryAfter(backoffMs(this.attempt, this.options.random, { baseMs: 100, maxMs: 1_000 }));
    this.attempt += 1;
  }

  private takeOffice(fence: ControllerFence): void {
    const { options } = this;
    const { controllerEpoch } = fence;
    options.logger.info('this broker is the controller', { controllerEpoch });
    const controller = options.makeController(fence, (why) => void this.onResigned(fence, why));
    this.term = { fence, controller };
    this.tellWhomToFollow();
    void controller.start();
  }

  /** The watch is a hint: read again before giving up office. */
  private async verifyOffice(): Promise<void> {
    const { term } = this;
    const { election, brokerId } = this.options;
    const isOurs = (seen: CurrentController | undefined): boolean =>
      seen?.brokerId === brokerId && seen.controllerEpoch === term?.fence.controllerEpoch;
    if (isOurs(this.current)) return;
    try {
      const current = await election.current();
      if (this.term !== term || !term) return;
      this.setCurrent(current);
      if (!isOurs(current)) term.controller.resign('another controller is in office');
    } catch (thrown) {
      // Unknown: its writes are fenced anyway, and the watch speaks again when contact is back.
      const error = TributaryError.from(thrown);
      this.options.logger.debug('cannot verify who is controller', { error });
    }
  }

  /** By its own decision. What made it resign may last, so others should take over. */
  private async onResigned(fence: ControllerFence, why: string): Promise<void> {
    const { session } = this;
    const { election, logger, clock, random, limits } = this.options;
    this.term = undefined;
    this.tellWhomToFollow();
    this.notBefore = clock.now() + limits.resignPauseMs;
    logger.info('this broker resigned as controller', { why });
    for (let attempt = 0; session === this.session; attempt += 1) {
      try {
        await election.resign(fence);
        break;
      } catch (thrown) {
        logger.debug('could not resign', { error: TributaryError.from(thrown) });
        // A newer controller has the office: nothing is left to give back.
        if (hasCode(thrown, 'STALE_CONTROLLER_EPOCH', 'BAD_VERSION')) break;
        const delayMs = backoffMs(attempt, random, { baseMs: 100, maxMs: 1_000 });
        await new Promise<void>((resolve) => clock.setTimer(delayMs, resolve, { unref: true }));
      }
    }
    if (session === this.session && !this.term) this.tryAfter(0);
  }
}
