/**
 * All control streams of one term of office, and the heartbeats on them. Invariant: one link per broker
 * registration; what comes of a link is an event that names that registration.
 * Called by the controller's driver.
 */
import {
  TributaryError,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type { RegisteredBroker } from '@tributary/coordination';
import type { BrokerHello, ControlDownInput, ControlUp, Transport } from '@tributary/protocol';
import type { ControlLimits } from '../control-limits';
import { ControlLink, type ControlLinkHost } from './control-link';
import type { BrokerLife, ControllerEvent } from './controller-event';
import { HeartbeatMonitor } from './heartbeat-monitor';

export interface ControllerLinksOptions {
  readonly clusterId: string;
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly interBrokerListener: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: ControlLimits;
  event(event: ControllerEvent): void;
}

export class ControllerLinks implements ControlLinkHost {
  private readonly links = new Map<number, ControlLink>();
  private readonly monitor: HeartbeatMonitor;
  private readonly reportedLate = new Set<number>();
  private timer: Timer | undefined;
  private heartbeats = 0;

  constructor(private readonly options: ControllerLinksOptions) {
    const { clock, limits } = options;
    const { heartbeatIntervalMs, heartbeatTimeoutMs } = limits;
    this.monitor = new HeartbeatMonitor(heartbeatIntervalMs, heartbeatTimeoutMs, clock.now());
    this.arm();
  }

  open(registration: RegisteredBroker): void {
    const { options } = this;
    const { brokerId, brokerEpoch, endpoints } = registration;
    this.closeOne(brokerId);
    const endpoint = endpoints.find(({ listener }) => listener === options.interBrokerListener);
    if (!endpoint) {
      const { interBrokerListener: listener } = options;
      options.logger.error('a broker has no endpoint for the others', { brokerId, listener });
      return;
    }
    const link = new ControlLink(
      {
        ...options,
        address: { host: endpoint.host, port: endpoint.port },
        brokerId,
        brokerEpoch,
        helloTimeoutMs: options.limits.helloTimeoutMs,
        redialMaxMs: options.limits.redialMaxMs,
      },
      this,
    );
    this.links.set(brokerId, link);
    link.open();
  }

  closeOne(brokerId: number): void {
    this.links.get(brokerId)?.close();
    this.links.delete(brokerId);
  }

  cut(brokerId: number, why: string): void {
    this.links.get(brokerId)?.cut(why);
  }

  send(brokerId: number, message: ControlDownInput): void {
    this.links.get(brokerId)?.send(message);
  }

  close(): void {
    this.timer?.cancel();
    for (const link of this.links.values()) link.close();
    this.links.clear();
  }

  /**
   * How long this controller has not heard from a majority of the registered brokers, itself counted as
   * heard: whether it may believe that it is not cut off.
   */
  majoritySilentForMs(): number {
    const { clock, controllerId } = this.options;
    const now = clock.now();
    const others = [...this.links.values()].filter((link) => link.brokerId !== controllerId);
    const silences = others
      .map((link) => (link.lastHeardAt === undefined ? Infinity : now - link.lastHeardAt))
      .sort((a, b) => a - b);
    const needed = Math.floor((others.length + 1) / 2);
    return needed === 0 ? 0 : (silences[needed - 1] ?? Infinity);
  }

  up(link: ControlLink, hello: BrokerHello): void {
    this.options.event({ type: 'stream-up', ...lifeOf(link), hello });
  }

  down(link: ControlLink, why: string): void {
    this.options.event({ type: 'stream-down', ...lifeOf(link), why });
  }

  refused(link: ControlLink, why: string): void {
    this.options.event({ type: 'refused', ...lifeOf(link), why });
  }

  stale(link: ControlLink, error: TributaryError): void {
    const why = `broker ${link.brokerId} has seen a newer controller: ${error.message}`;
    this.options.event({ type: 'resign', why });
  }

  message(link: ControlLink, message: ControlUp): void {
    this.reportedLate.delete(link.brokerId);
    const life = lifeOf(link);
    if (message.heartbeat) {
      const { id, answer } = message.heartbeat;
      if (!answer) link.send({ heartbeat: { id, answer: true }, body: 'heartbeat' });
    } else if (message.ack) {
      this.options.event({ type: 'acknowledged', ...life, sequence: message.ack.sequence });
    } else if (message.alterPartition) {
      const { brokerId } = link;
      this.options.event({ type: 'alter-partition', brokerId, request: message.alterPartition });
    } else if (message.controlledShutdown) {
      const { requestId, brokerEpoch } = message.controlledShutdown;
      const { brokerId } = link;
      this.options.event({ type: 'controlled-shutdown', brokerId, brokerEpoch, requestId });
    } else if (message.replicasStopped) {
      const { results } = message.replicasStopped;
      this.options.event({ type: 'replicas-stopped', ...life, results });
    } else if (message.replicasOffline) {
      const { replicas } = message.replicasOffline;
      this.options.event({ type: 'replicas-offline', ...life, replicas });
    } else if (message.replicasRestored) {
      const { replicas } = message.replicasRestored;
      this.options.event({ type: 'replicas-restored', ...life, replicas });
    } else if (message.request) {
      const { brokerId } = link;
      this.options.event({ type: 'command', brokerId, request: message.request });
    } else {
      throw new TributaryError('INVALID_ARGUMENT', 'a control message without a known body');
    }
  }

  private arm(): void {
    const { clock, limits } = this.options;
    this.timer = clock.setTimer(limits.heartbeatIntervalMs, () => this.beat());
  }

  private beat(): void {
    this.arm();
    this.heartbeats += 1;
    const links = [...this.links.values()];
    const late = this.monitor
      .check(this.options.clock.now(), links)
      .filter(({ brokerId }) => !this.reportedLate.has(brokerId));
    for (const link of links) {
      link.send({ heartbeat: { id: this.heartbeats, answer: false }, body: 'heartbeat' });
    }
    if (late.length === 0) return;
    for (const { brokerId } of late) this.reportedLate.add(brokerId);
    const brokers = late.map(({ brokerId, brokerEpoch }) => ({ brokerId, brokerEpoch }));
    this.options.event({ type: 'late', brokers });
  }
}

function lifeOf(link: ControlLink): BrokerLife {
  return { brokerId: link.brokerId, brokerEpoch: link.brokerEpoch };
}
