/**
 * One broker: composes the control plane (registration, election, control stream, metadata, admin), the data
 * plane and the groups on the ports that it is given. The server, the embedded cluster and the simulation
 * make it; it reads no configuration.
 *
 * Invariants: it listens before it registers, and registers only with recovered logs; losing contact with
 * the coordinator stops nothing, only a confirmed end of the session does: then all leaderships end, a
 * controller's term ends, and it registers anew under another broker epoch.
 */
import { Deadline, hasCode, TributaryError } from '@tributary/common';
import {
  createBrokerRegistry,
  createClusterIdentity,
  type BrokerRegistration,
} from '@tributary/coordination';
import type { Handler, Listener } from '@tributary/protocol';
import { assembleBroker, type BrokerParts } from './broker-parts';
import { BrokerRegistrar } from './broker-registrar';
import type { BrokerOptions, BrokerStatus } from './broker-options';
import { defaultControlLimits, type ControlLimits } from './control-limits';
import { handOverLeaderships } from './controlled-shutdown';
import type { DatedEntry } from './controller/decision-journal';

/** Open calls may finish for so long when the broker stops. */
const LISTENER_GRACE_MS = 200;
const LOG_CLOSE_MS = 1_500;
const SESSION_CLOSE_MS = 500;

export class Broker {
  private readonly limits: ControlLimits;
  private parts: BrokerParts | undefined;
  private registrar: BrokerRegistrar | undefined;
  private brokerEpoch: number | undefined;
  private listeners: { readonly name: string; readonly listener: Listener }[] = [];
  private stopping: Promise<void> | undefined;
  private isDead = false;

  constructor(private readonly options: BrokerOptions) {
    this.limits = { ...defaultControlLimits, ...options.limits };
  }

  /** Resolves once registered. Rejects with ADDRESS_IN_USE, CLUSTER_MISMATCH, BROKER_ID_IN_USE, COORDINATOR_UNAVAILABLE. */
  async start(): Promise<void> {
    try {
      await this.startParts();
    } catch (thrown) {
      // Nothing of it may go on: the caller closes coordinator and logs, which are its own.
      if (!this.stopping) this.kill();
      throw thrown;
    }
  }

  private async startParts(): Promise<void> {
    const { coordinator, random, previousTicket } = this.options;
    await coordinator.ready(this.limits.coordinatorReadyMs);
    const clusterId = await createClusterIdentity(coordinator, random).getOrCreate();
    await this.confirmCluster(clusterId);
    if (previousTicket) await coordinator.endSession(previousTicket);
    this.checkRunning();
    const registry = createBrokerRegistry(coordinator, this.options.clock, this.options.logger, {
      pastSessionIds: previousTicket ? [previousTicket.sessionId] : [],
    });
    const parts = assembleBroker(this.options, {
      limits: this.limits,
      clusterId,
      registry,
      brokerEpoch: () => this.brokerEpoch,
    });
    this.parts = parts;
    await this.listen(parts.handlers);
    this.checkRunning();
    this.registrar = new BrokerRegistrar({
      ...this.options,
      registry,
      registration: this.registration(),
      saveSessionTicket: (ticket) => this.options.saveSessionTicket?.(ticket),
      controllerEpoch: () => parts.controllerEpoch(),
      onRegistered: (brokerEpoch, controllerEpoch) => {
        this.onRegistered(parts, brokerEpoch);
        parts.receiver.registered(controllerEpoch);
      },
      onExpired: () => this.onExpired(parts),
      onFatal: (error) => this.options.onFatal?.(error),
    });
    parts.isolation.start();
    parts.leadership.start();
    await this.registrar.start();
    this.checkRunning();
  }

  /** Bounded: at most 4 s. Idempotent. */
  stop(options: { readonly graceful: boolean }): Promise<void> {
    this.stopping ??= this.stopAll(options.graceful);
    return this.stopping;
  }

  /** As a crash: no goodbye to anybody, the session is left to expire. */
  kill(): void {
    this.isDead = true;
    this.registrar?.stop();
    const { parts } = this;
    parts?.isolation.stop();
    parts?.leadership.stop();
    parts?.elector.kill();
    parts?.receiver.close();
    parts?.dataPlane.kill();
    void this.options.transport.close();
  }

  status(): BrokerStatus {
    const { options, parts, brokerEpoch } = this;
    const image = parts?.metadata.known ? parts.metadata.image : undefined;
    return {
      brokerId: options.brokerId,
      clusterId: parts?.clusterId,
      listeners: this.listeners.map(({ name, listener }) => ({ name, address: listener.address })),
      registered: this.registrar?.registered ?? false,
      brokerEpoch,
      isController: parts?.elector.controller !== undefined,
      controllerId: image?.controllerId,
      controllerEpoch: image?.controllerEpoch,
      imageSequence: image?.sequence,
      isolated: parts?.isolation.isolated ?? false,
      coordinatorStatus: options.coordinator.status,
      notReadyReasons: this.notReadyReasons(),
      partitions: parts?.dataPlane.status() ?? [],
      previousStop: options.logStore?.previousStop,
    };
  }

  /** What this broker decided as controller, newest last. */
  decisions(): readonly DatedEntry[] {
    return this.parts?.journal.list() ?? [];
  }

  private notReadyReasons(): string[] {
    if (this.isDead || this.stopping) return ['it stops'];
    if (!this.parts) return ['it is starting'];
    if (!this.registrar?.registered) return ['it is not registered'];
    if (!this.parts.receiver.imaged) return ['no controller has sent it an image yet'];
    if (this.parts.isolation.isolated) return ['it hears neither coordinator nor controller'];
    return [];
  }

  private async confirmCluster(clusterId: string): Promise<void> {
    const { logStore } = this.options;
    if (logStore && isClusterBound(logStore)) await logStore.confirmCluster(clusterId);
  }

  private checkRunning(): void {
    if (this.isDead || this.stopping) throw new TributaryError('CLOSED', 'the broker was stopped');
  }

  private async listen(handlers: readonly Handler[]): Promise<void> {
    const { transport, listeners } = this.options;
    for (const { name, bind } of listeners) {
      const listener = await transport.listen({ ...bind, listener: name, handlers });
      this.listeners.push({ name, listener });
    }
  }

  private registration(): BrokerRegistration {
    const { brokerId, rack, hostname, listeners } = this.options;
    const endpoints = listeners.map(({ name, advertised }, index) => ({
      listener: name,
      host: advertised.host,
      port: advertised.port || (this.listeners[index]?.listener.address.port ?? 0),
    }));
    return { brokerId, endpoints, rack, hostname };
  }

  private onRegistered(parts: BrokerParts, brokerEpoch: number): void {
    if (this.isDead) return;
    this.brokerEpoch = brokerEpoch;
    parts.dataPlane.host.setBrokerEpoch(brokerEpoch);
    parts.elector.enable();
  }

  private onExpired(parts: BrokerParts): void {
    if (this.isDead) return;
    this.brokerEpoch = undefined;
    parts.elector.disable();
    parts.dataPlane.host.resignAll('the session with the coordinator expired');
    parts.dataPlane.host.setBrokerEpoch(undefined);
    parts.receiver.dropStream('the session of this broker expired');
  }

  private async stopAll(graceful: boolean): Promise<void> {
    const { parts, options } = this;
    const { clock, logger, coordinator, transport } = options;
    const brokerEpoch = this.brokerEpoch ?? -1;
    if (parts && graceful && this.registrar?.registered) {
      const timeoutMs = this.limits.controlledShutdownMs;
      const ask = (askMs: number): Promise<number> => parts.receiver.controlledShutdown(askMs);
      await handOverLeaderships({ clock, logger, timeoutMs, ask });
    }
    parts?.isolation.stop();
    parts?.leadership.stop();
    await Promise.all(this.listeners.map(({ listener }) => listener.close(LISTENER_GRACE_MS)));
    await this.within(LOG_CLOSE_MS, parts?.dataPlane.close({ clean: true, brokerEpoch }));
    this.registrar?.stop();
    // Last of all: until here the controller could still hand over what this broker led.
    await this.within(SESSION_CLOSE_MS, parts?.elector.stop());
    parts?.receiver.close();
    await coordinator.close(SESSION_CLOSE_MS);
    options.saveSessionTicket?.(undefined);
    this.isDead = true;
    await transport.close();
  }

  /** What does not end in time is left behind; it is safe, only slower to start from. */
  private async within(timeoutMs: number, work: Promise<void> | undefined): Promise<void> {
    if (!work) return;
    try {
      await Deadline.after(this.options.clock, timeoutMs).race(work, 'a part of the stop');
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      if (!hasCode(error, 'TIMEOUT')) this.options.logger.error('stop', { error });
      else this.options.logger.warn('a part of the broker did not stop in time', { timeoutMs });
    }
  }
}

/** A log store that stays: it belongs to one cluster for ever. */
interface ClusterBound {
  /** Throws CLUSTER_MISMATCH when it belongs to another one. */
  confirmCluster(clusterId: string): Promise<void>;
}

function isClusterBound(store: object): store is ClusterBound {
  return 'confirmCluster' in store;
}
