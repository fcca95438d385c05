/**
 * One broker with all that surrounds it: HTTP side, logs, coordinator session, Broker. Started in an order in which
 * every failure has one clear reason, stopped in the reverse. Made by the broker process, the embedded cluster and
 * the testing package, each with parts of its own.
 *
 * Invariant: whatever `start` opened is closed when it fails; `stop` may be called at any time and more than once.
 */
import { hostname } from 'node:os';
import { Broker, type BrokerListener, type BrokerStatus } from '@tributary/broker';
import { TributaryError } from '@tributary/common';
import type { Clock, Logger, Random } from '@tributary/common';
import type { Coordinator, SessionTicket } from '@tributary/coordination';
import { RecoveryProgress, type LogStore } from '@tributary/log';
import type { Transport } from '@tributary/protocol';
import { formatZooKeeper } from './config/print-config';
import type { BrokerConfig } from './config/settings';
import { Health, type Check } from './health/health';
import { HttpServer } from './health/http-server';
import { BrokerMetrics } from './metrics/broker-metrics';
import { buildVersion } from './version';

export interface BrokerNodeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transport: Transport;
  /** Locks the data and log directories and recovers the logs. */
  openLogs(progress: RecoveryProgress): Promise<LogStore>;
  /** A session of this broker's own. */
  connectCoordinator(): Coordinator;
  readonly previousTicket?: () => SessionTicket | undefined;
  saveSessionTicket?(ticket: SessionTicket | undefined): void;
  /** It cannot go on: the process should exit. */
  onFatal?(error: TributaryError): void;
  readonly freeDiskBytes?: () => number;
}

/** The wait for ZooKeeper is mentioned in the log after this long. */
const MENTION_WAIT_MS = 2000;

export class BrokerNode {
  readonly health = new Health();
  private phase: string | undefined = 'it has not been started';
  private readonly recovery = new RecoveryProgress();
  private http: HttpServer | undefined;
  private logs: LogStore | undefined;
  private coordinator: Coordinator | undefined;
  private broker: Broker | undefined;
  private stopping: Promise<void> | undefined;

  constructor(
    readonly config: BrokerConfig,
    private readonly parts: BrokerNodeParts,
  ) {
    this.health.add('lifecycle', () => this.phase);
    this.health.add('broker', () => {
      const reasons = this.broker?.status().notReadyReasons ?? ['it does not run yet'];
      return reasons.length > 0 ? reasons.join('; ') : undefined;
    });
    this.health.add('log directories', () => this.directoryTrouble());
  }

  /** Really bound; 0 before `start`. */
  get httpPort(): number {
    return this.http?.port ?? 0;
  }

  get status(): BrokerStatus | undefined {
    return this.broker?.status();
  }

  async start(): Promise<void> {
    try {
      await this.startParts();
    } catch (error) {
      await this.closeAll();
      throw error;
    }
  }

  /** Not ready at once; hands leaderships over, closes the logs, ends the session. */
  stop(graceful = true): Promise<void> {
    this.phase = 'it is stopping';
    this.stopping ??= this.stopParts(graceful);
    return this.stopping;
  }

  /** As a crash: no goodbye to anybody. */
  async kill(): Promise<void> {
    this.phase = 'it was killed';
    this.broker?.kill();
    await this.closeLogs();
    await this.http?.close();
  }

  /** Only gives up the lock where the broker has closed them in order. */
  private async closeLogs(): Promise<void> {
    const { logs } = this;
    this.logs = undefined;
    await logs?.close({ clean: false, brokerEpoch: -1 });
  }

  private async startParts(): Promise<void> {
    const { config, parts } = this;
    const metrics = new BrokerMetrics({
      status: () => this.status,
      ...(parts.freeDiskBytes ? { freeDiskBytes: parts.freeDiskBytes } : {}),
      logDirectories: () => this.logs?.directories() ?? [],
    });
    this.phase = 'it is starting';
    this.http = await HttpServer.listen(config.httpHost, config.httpPort, {
      health: () => this.health.report(),
      metrics: () => metrics.text(),
      version: () => ({
        version: buildVersion(),
        node: process.version,
        brokerId: config.brokerId,
      }),
    });
    this.phase = 'its logs are being recovered';
    this.logs = await parts.openLogs(this.recovery);
    this.reportStop(this.logs);
    this.phase = `it waits for ZooKeeper at ${formatZooKeeper(config.zookeeper)}`;
    const previousTicket = parts.previousTicket?.();
    this.coordinator = parts.connectCoordinator();
    metrics.watchSessions(this.coordinator);
    await this.waitForCoordinator(this.coordinator);
    this.phase = 'it is joining the cluster';
    this.broker = this.makeBroker(this.logs, this.coordinator, previousTicket);
    await this.broker.start();
    if (this.stopping) throw new TributaryError('CANCELLED', 'it was stopped while it started');
    this.phase = undefined;
  }

  private reportStop({ previousStop, cutBelowHighWatermark }: LogStore): void {
    const level = previousStop.kind === 'machine' ? 'warn' : 'info';
    this.parts.logger[level]('logs are open', {
      previousStop: previousStop.kind,
      previousBrokerEpoch: previousStop.brokerEpoch,
      cutBelowHighWatermark: cutBelowHighWatermark.length,
    });
  }

  /** As long as one of them serves, the broker does. */
  private directoryTrouble(): ReturnType<Check> {
    if (!this.logs) return this.recovery.text ? `recovering: ${this.recovery.text}` : undefined;
    const directories = this.logs.directories();
    const offline = directories.filter(({ failure }) => failure !== undefined);
    if (offline.length === 0) return undefined;
    const text = offline.map(({ path, failure }) => `${path} is offline: ${failure}`).join('; ');
    return offline.length < directories.length ? { warning: text } : text;
  }

  private async waitForCoordinator(coordinator: Coordinator): Promise<void> {
    const { config, parts } = this;
    const servers = formatZooKeeper(config.zookeeper);
    const mention = parts.clock.setTimer(MENTION_WAIT_MS, () =>
      parts.logger.warn('waiting for ZooKeeper', { servers, giveUpAfterMs: config.startTimeoutMs }),
    );
    try {
      await coordinator.ready(config.startTimeoutMs);
    } finally {
      mention.cancel();
    }
  }

  private makeBroker(
    logs: LogStore,
    coordinator: Coordinator,
    previousTicket: SessionTicket | undefined,
  ): Broker {
    const { config, parts } = this;
    const listeners = brokerListeners(config);
    const inside = listeners.find((listener) => listener.name === 'inside') ?? listeners[0]!;
    return new Broker({
      brokerId: config.brokerId,
      ...(config.rack === undefined ? {} : { rack: config.rack }),
      listeners,
      interBrokerListener: inside.name,
      hostname: hostname(),
      clock: parts.clock,
      random: parts.random,
      logger: parts.logger,
      transport: parts.transport,
      coordinator,
      logStore: logs,
      limits: {
        zombieGraceMs: config.zombieGraceMs,
        controlledShutdownMs: config.shutdownTimeoutMs,
        coordinatorReadyMs: config.startTimeoutMs,
      },
      dataLimits: {
        catchUpBytesPerSecond: config.replicationCatchUpBytesPerSecond,
        maxInflatedBatchBytes: config.maxInflatedBatchBytes,
      },
      ...(previousTicket ? { previousTicket } : {}),
      saveSessionTicket: (ticket) => parts.saveSessionTicket?.(ticket),
      onFatal: (error) => parts.onFatal?.(error),
    });
  }

  private async stopParts(graceful: boolean): Promise<void> {
    try {
      await this.broker?.stop({ graceful });
    } finally {
      await this.closeAll();
    }
  }

  private async closeAll(): Promise<void> {
    await this.coordinator?.close(1000);
    await this.parts.transport.close();
    await this.closeLogs();
    await this.http?.close();
  }
}

function brokerListeners(config: BrokerConfig): BrokerListener[] {
  return config.listeners.map((endpoint) => {
    const advertised =
      config.advertisedListeners?.find((other) => other.listener === endpoint.listener) ?? endpoint;
    return {
      name: endpoint.listener,
      bind: { host: endpoint.host, port: endpoint.port },
      advertised: { host: advertised.host, port: advertised.port },
    };
  });
}
