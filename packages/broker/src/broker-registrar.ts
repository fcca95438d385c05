/**
 * Keeps this broker registered: once at start, and again in each new session after one expired. A broker epoch
 * is reported only while the session that it was registered in lasts, and with the controller epoch as it was after the
 * registration: whoever was deposed before has nothing to say to it.
 * Called by Broker.
 */
import {
  backoffMs,
  hasCode,
  sleep,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
} from '@tributary/common';
import type {
  BrokerRegistration,
  BrokerRegistry,
  Coordinator,
  SessionTicket,
  Watch,
} from '@tributary/coordination';

export interface BrokerRegistrarOptions {
  readonly coordinator: Coordinator;
  readonly registry: BrokerRegistry;
  readonly registration: BrokerRegistration;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  saveSessionTicket(ticket: SessionTicket): void;
  /** Behind a barrier. */
  controllerEpoch(): Promise<number>;
  onRegistered(brokerEpoch: number, controllerEpoch: number): void;
  /** The server said that the session is over: the registration is gone. */
  onExpired(): void;
  /** Somebody else took this broker's id meanwhile. */
  onFatal(error: TributaryError): void;
}

export class BrokerRegistrar {
  private watch: Watch | undefined;
  private session = 0;
  private registeredIn: number | undefined;
  private readonly stopping = new AbortController();

  constructor(private readonly options: BrokerRegistrarOptions) {}

  get registered(): boolean {
    return this.registeredIn === this.session;
  }

  /** Resolves once registered. Throws BROKER_ID_IN_USE, COORDINATOR_UNAVAILABLE. */
  async start(): Promise<void> {
    const { coordinator } = this.options;
    this.saveTicket();
    this.watch = coordinator.onSession((event) => {
      if (event.type === 'expired') this.onExpired();
      // The first registration may be running in the session that this announces.
      else if (event.type === 'opened' && !this.registered) void this.registerAgain();
    });
    await this.register();
  }

  stop(): void {
    this.watch?.stop();
    this.stopping.abort();
  }

  private onExpired(): void {
    const wasRegistered = this.registered;
    this.session += 1;
    if (!wasRegistered) return;
    this.options.logger.warn('the session with the coordinator expired; registering anew');
    this.options.onExpired();
  }

  private saveTicket(): void {
    const { sessionTicket } = this.options.coordinator;
    if (sessionTicket) this.options.saveSessionTicket(sessionTicket);
  }

  private async register(): Promise<void> {
    const { registry, registration, logger } = this.options;
    const { session } = this;
    const brokerEpoch = await registry.register(registration);
    const controllerEpoch = await this.options.controllerEpoch();
    // The session that it was made in is over, or another attempt was faster.
    if (session !== this.session || this.registered || this.stopping.signal.aborted) return;
    this.registeredIn = session;
    this.saveTicket();
    logger.info('registered', { brokerId: registration.brokerId, brokerEpoch });
    this.options.onRegistered(brokerEpoch, controllerEpoch);
  }

  private async registerAgain(): Promise<void> {
    const { clock, random, logger } = this.options;
    const { session } = this;
    this.saveTicket();
    for (let attempt = 0; session === this.session && !this.registered; attempt += 1) {
      try {
        await this.register();
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        if (this.stopping.signal.aborted || session !== this.session) return;
        if (hasCode(error, 'BROKER_ID_IN_USE')) return this.options.onFatal(error);
        logger.warn('registration failed, trying again', { error });
        const delayMs = backoffMs(attempt, random, { baseMs: 100, maxMs: 2_000 });
        await sleep(clock, delayMs, this.stopping.signal).catch(() => undefined);
      }
      if (this.stopping.signal.aborted) return;
    }
  }
}
