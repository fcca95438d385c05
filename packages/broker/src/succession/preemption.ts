/**
 * Replaces a controller that is lost without waiting for its session to end: when its stream broke or fell silent and a
 * dial of it is refused or not answered, the others are asked; with a majority of the registered brokers behind it, and
 * in its turn, against duels, this broker takes the office over by one multi. Also answers the same question
 * of others.
 *
 * Invariants: never without a majority, never while this broker is not registered, has no contact with the coordinator, or
 * stood still itself meanwhile. Safety rests on none of that: the multi names the reign that it ends, and the epoch
 * fences whoever was in office.
 * Driven by the elector (`follow`), the receiver (`onStream`) and a timer. Made by the broker's assembly.
 */
import {
  backoffMs,
  randomInteger,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type { CurrentController } from '@tributary/coordination';
import type { ControllerStream } from '../control/controller-stream';
import type { ControlLimits } from '../control-limits';
import { HeartbeatMonitor } from '../controller/heartbeat-monitor';
import { sameReign, type Evidence, type LossEvidence } from './loss-evidence';
import { pollLoss } from './loss-poll';
import type { LossAnswer, LossQuestion } from './loss-question';
import { nextSuspicion, type Suspicion, type SuspicionEvent } from './suspicion';

export interface PreemptionOptions {
  readonly brokerId: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  readonly question: LossQuestion;
  readonly evidence: LossEvidence;
  /** The newest one. */
  stream(): ControllerStream | undefined;
  /** Connected, and lately answered by the coordinator. */
  hasCoordinator(): boolean;
  /** Resolves when it is known who is in office. */
  replace(reign: CurrentController): Promise<void>;
  /** For the decision journal. */
  note(what: string, why: string, reign: CurrentController): void;
}

export class Preemption {
  private suspicion: Suspicion = 'idle';
  private reign: CurrentController | undefined;
  private followedSince = 0;
  private monitor: HeartbeatMonitor | undefined;
  /** By the last check of the monitor. */
  private isSilent = false;
  /** What was begun in an earlier phase is void. */
  private round = 0;
  private attempt = 0;
  private found: Evidence | undefined;
  private timer: Timer | undefined;
  private checkTimer: Timer | undefined;

  constructor(private readonly options: PreemptionOptions) {}

  /** Another broker is in office, under this reign; undefined: nobody is, or this broker, or it is not registered. */
  follow(reign: CurrentController | undefined): void {
    if (sameReign(reign, this.reign)) return;
    const { clock, limits, evidence } = this.options;
    this.reign = reign;
    this.isSilent = false;
    this.attempt = 0;
    evidence.forget();
    this.checkTimer?.cancel();
    if (!reign) return this.move('unfollowed');
    const { heartbeatIntervalMs, heartbeatTimeoutMs } = limits;
    this.followedSince = clock.now();
    this.monitor = new HeartbeatMonitor(heartbeatIntervalMs, heartbeatTimeoutMs, clock.now());
    this.arm();
    this.move('followed');
    const stream = this.options.stream();
    if (stream?.controllerEpoch === reign.controllerEpoch && !stream.isUp) this.move('lost');
  }

  /** The newest control stream came up, or broke. */
  onStream(event: 'up' | 'down'): void {
    const epoch = this.options.stream()?.controllerEpoch;
    if (event === 'up' && this.isHeard) this.hear();
    if (event === 'down' && this.reign && epoch === this.reign.controllerEpoch) this.move('lost');
  }

  /** What this broker knows of that controller, for another one that asks. */
  async confirm(reign: CurrentController): Promise<LossAnswer> {
    if (!this.reign) return { lost: false, why: 'this broker follows no controller now' };
    if (!sameReign(reign, this.reign)) {
      const { brokerId, controllerEpoch } = this.reign;
      const why = `this broker follows broker ${brokerId} in epoch ${controllerEpoch}`;
      return { lost: false, why };
    }
    if (this.isHeard) return { lost: false, why: 'its stream is up' };
    const { found, why } = await this.options.evidence.find(reign);
    if (found !== 'unreachable') return { lost: false, why };
    if (this.isHeard) return { lost: false, why: 'its stream is up again' };
    return { lost: true, why };
  }

  private get isHeard(): boolean {
    const stream = this.options.stream();
    if (!stream?.isUp || !this.reign) return false;
    return stream.controllerEpoch >= this.reign.controllerEpoch && !this.isSilent;
  }

  private hear(): void {
    this.attempt = 0;
    this.options.evidence.forget();
    this.move('heard');
  }

  private arm(): void {
    const { clock, limits } = this.options;
    this.checkTimer = clock.setTimer(limits.heartbeatIntervalMs, () => {
      this.arm();
      this.check();
    });
  }

  /** Silence, less the time that this process itself stood still. */
  private check(): void {
    const { reign, monitor } = this;
    if (!reign || !monitor) return;
    const stream = this.options.stream();
    const isItsStream = stream !== undefined && stream.controllerEpoch >= reign.controllerEpoch;
    const { brokerId, controllerEpoch: brokerEpoch } = reign;
    // One that never spoke counts from when it was known.
    const lastHeardAt = isItsStream ? stream.lastHeardAt : this.followedSince;
    const late = monitor.check(this.options.clock.now(), [{ brokerId, brokerEpoch, lastHeardAt }]);
    this.isSilent = late.length > 0;
    if (this.isSilent) this.move('lost');
    else if (this.isHeard && this.suspicion !== 'trusting') this.hear();
  }

  private move(event: SuspicionEvent): void {
    const next = nextSuspicion(this.suspicion, event);
    if (next === this.suspicion && event !== 'followed') return;
    this.suspicion = next;
    this.round += 1;
    this.timer?.cancel();
    if (this.reign) this.enter(next, this.reign);
  }

  private enter(suspicion: Suspicion, reign: CurrentController): void {
    if (suspicion === 'probing') void this.probe(reign);
    else if (suspicion === 'polling') void this.poll(reign);
    else if (suspicion === 'delaying') this.delay();
    else if (suspicion === 'preempting') void this.preempt(reign);
    else if (suspicion === 'pausing') this.pause();
  }

  private async probe(reign: CurrentController): Promise<void> {
    const { round } = this;
    const { evidence, logger } = this.options;
    const found = await evidence.find(reign);
    if (round !== this.round) return;
    this.found = found;
    if (found.found === 'unreachable') {
      const { brokerId: controllerId, controllerEpoch } = reign;
      logger.info('the controller is lost', { controllerId, controllerEpoch, why: found.why });
    }
    this.move(found.found);
  }

  private async poll(reign: CurrentController): Promise<void> {
    const { round, found } = this;
    const { options } = this;
    const brokers = found?.brokers ?? [];
    const { confirmed, confirming } = await pollLoss(options, reign, brokers);
    if (round !== this.round) return;
    if (confirmed) {
      const of = `${confirming.join(', ')} of ${brokers.length} registered brokers`;
      options.note('lost', `confirmed by ${of}: ${found?.why ?? ''}`, reign);
    }
    this.move(confirmed ? 'confirmed' : 'unconfirmed');
  }

  /**
   * The lowest of those that are left goes at once, the others behind it in turn, each with some chance: so there is hardly
   * ever a duel, and nothing is lost by waiting where there is none.
   * A timer that comes much too late tells that this process stood still: then all that was found is old.
   */
  private delay(): void {
    const { clock, random, limits } = this.options;
    const { preemptionDelayMs } = limits;
    const chanceMs = this.rank === 0 ? 0 : randomInteger(random, preemptionDelayMs + 1);
    const delayMs = this.rank * preemptionDelayMs + chanceMs;
    const dueAt = clock.now() + delayMs;
    this.timer = clock.setTimer(delayMs, () => {
      const isStale = clock.now() - dueAt > limits.heartbeatIntervalMs;
      if (this.isHeard) this.hear();
      else this.move(isStale || !this.options.hasCoordinator() ? 'doubted' : 'elapsed');
    });
  }

  /** Of this broker among those that are registered, without the controller that is lost: 0 is the lowest id. */
  private get rank(): number {
    const { found, reign } = this;
    const lower = (found?.brokers ?? []).filter(
      ({ brokerId }) => brokerId < this.options.brokerId && brokerId !== reign?.brokerId,
    );
    return lower.length;
  }

  private async preempt(reign: CurrentController): Promise<void> {
    const { round } = this;
    const { options } = this;
    options.note('replaced', 'its loss is confirmed', reign);
    try {
      await options.replace(reign);
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      options.logger.warn('the controller could not be replaced', { error });
    }
    if (round === this.round) this.move('settled');
  }

  private pause(): void {
    const { clock, random, limits } = this.options;
    const { preemptionRetryMaxMs: maxMs } = limits;
    const delayMs = backoffMs(this.attempt, random, { baseMs: 40, maxMs, minMs: 10 });
    this.attempt += 1;
    this.timer = clock.setTimer(delayMs, () => {
      if (this.isHeard) this.hear();
      else this.move('elapsed');
    });
  }
}
