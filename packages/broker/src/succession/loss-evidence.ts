/**
 * Is the controller there? This broker's own evidence, by a fresh dial of the controller's inside endpoint: refused, not
 * answered, or answered that it is not in office. A dial that several ask for at once is made once; that it failed counts
 * for `lossProbeTimeoutMs`.
 *
 * Invariant: time in which this process stood still is no silence of anybody (`doubted`). Called by `Preemption`, for
 * itself and for others that ask.
 */
import {
  Deadline,
  hasCode,
  TributaryError,
  type Clock,
  type ErrorCode,
  type Logger,
} from '@tributary/common';
import type { CurrentController, RegisteredBroker } from '@tributary/coordination';
import type { ControlLimits } from '../control-limits';
import type { LossQuestion } from './loss-question';

export interface LossEvidenceOptions {
  readonly brokerId: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  readonly question: LossQuestion;
  registered(): Promise<readonly RegisteredBroker[]>;
}

export interface Evidence {
  readonly found: 'reached' | 'unreachable' | 'doubted';
  readonly why: string;
  /** All that are registered, the controller and this broker among them; empty where that is not known. */
  readonly brokers: readonly RegisteredBroker[];
}

/** Another broker, or another life of it, listens there now. */
const otherCodes: readonly ErrorCode[] = ['BROKER_MISMATCH', 'CLUSTER_MISMATCH'];

export class LossEvidence {
  private latest:
    | {
        readonly reign: CurrentController;
        readonly until: number;
        readonly look: Promise<Evidence>;
      }
    | undefined;

  constructor(private readonly options: LossEvidenceOptions) {}

  /** Never rejects. */
  find(reign: CurrentController): Promise<Evidence> {
    const { clock, limits, logger } = this.options;
    const { latest } = this;
    if (latest && sameReign(latest.reign, reign) && clock.now() < latest.until) return latest.look;
    const look = this.look(reign)
      .catch((thrown: unknown): Evidence => {
        const error = TributaryError.from(thrown);
        logger.debug('no evidence whether the controller is there', { error });
        return { found: 'doubted', why: error.message, brokers: [] };
      })
      .then((evidence) => {
        if (this.latest?.look === look) {
          const until = clock.now() + limits.lossProbeTimeoutMs;
          this.latest = evidence.found === 'unreachable' ? { reign, look, until } : undefined;
        }
        return evidence;
      });
    this.latest = { reign, look, until: Infinity };
    return look;
  }

  /** It is heard again, or another one is followed. */
  forget(): void {
    this.latest = undefined;
  }

  private async look(reign: CurrentController): Promise<Evidence> {
    const { options } = this;
    const { brokerId, clock, limits } = options;
    const deadline = Deadline.after(clock, limits.lossProbeTimeoutMs);
    const brokers = await deadline.race(
      options.registered(),
      'reading which brokers are registered',
    );
    const suspect = brokers.find((broker) => broker.brokerId === reign.brokerId);
    if (!suspect) return { found: 'doubted', why: 'its session is over', brokers };
    if (!brokers.some((broker) => broker.brokerId === brokerId)) {
      return { found: 'doubted', why: 'this broker is not registered', brokers };
    }
    return { ...(await this.dial(suspect, reign)), brokers };
  }

  private async dial(
    suspect: RegisteredBroker,
    reign: CurrentController,
  ): Promise<Pick<Evidence, 'found' | 'why'>> {
    const { clock, limits, question } = this.options;
    const startedAt = clock.now();
    try {
      const { lost, why } = await question.ask(suspect, reign);
      return { found: lost ? 'unreachable' : 'reached', why };
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      const why = error.message;
      const tookMs = clock.now() - startedAt;
      const stoodStill = tookMs > limits.lossProbeTimeoutMs + limits.heartbeatIntervalMs;
      if (error.details.refused === true || hasCode(error, ...otherCodes)) {
        return { found: 'unreachable', why };
      }
      if (hasCode(error, 'TIMEOUT')) return { found: stoodStill ? 'doubted' : 'unreachable', why };
      // Broken while it was made: it may be dying just now. Any other answer comes from somebody who lives.
      return { found: hasCode(error, 'UNAVAILABLE') ? 'doubted' : 'reached', why };
    }
  }
}

export function sameReign(
  a: CurrentController | undefined,
  b: CurrentController | undefined,
): boolean {
  return a?.brokerId === b?.brokerId && a?.controllerEpoch === b?.controllerEpoch;
}
