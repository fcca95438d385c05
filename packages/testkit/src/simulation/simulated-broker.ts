/**
 * One simulated machine with a real Broker on it, through all its lives: the disk stays, everything else is made
 * anew by each `start`. Invariant: after `crash` nothing of the old life is heard of again, neither on the network
 * nor by the coordinator nor on the disk nor in the logs, as after kill -9. Called by SimulatedCluster.
 */
import {
  Broker,
  createDataPlane,
  type BrokerStatus,
  type ControlLimits,
  type DataLimits,
  type DataPlane,
} from '@tributary/broker';
import {
  assert,
  parseTopicConfig,
  sleep,
  TributaryError,
  type Logger,
  type Random,
} from '@tributary/common';
import type { EmbeddedCoordinator, EmbeddedEnsemble, SessionTicket } from '@tributary/coordination';
import { LogDirectories, LogDirectory, type Disk, type LogStore } from '@tributary/log';
import type { Address } from '@tributary/protocol';
import { ProcessClock } from './process-clock';
import type { SimulatedClock } from './simulated-clock';
import { SimulatedDisk } from './simulated-disk';
import type { SimulatedNetwork } from './simulated-network';

export interface BrokerWorld {
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly ensemble: EmbeddedEnsemble;
  readonly sessionTimeoutMs: number;
  readonly settings: BrokerSettings;
  loggerOf(brokerId: number): Logger;
}

/** Of every broker of a cluster, in all its lives. */
export interface BrokerSettings {
  /** Default: one, `/data`. */
  readonly logDirectories?: readonly string[];
  /** How long a datasync takes at most. Default: no time at all. */
  readonly syncMs?: number;
  /** Between two rounds of retention and compaction. Default: as the log has it. */
  readonly maintenanceIntervalMs?: number;
  readonly limits?: Partial<ControlLimits>;
  readonly dataLimits?: Partial<DataLimits>;
  readonly observer?: LifeObserver;
}

/** Sees the insides of each life of a broker, to check what a client cannot see. */
export interface LifeObserver {
  /** Its logs are recovered; nobody has used them yet. `alive`: false for ever after its crash. */
  logsOpened(brokerId: number, logs: LogStore, alive: () => boolean): void;
  dataPlaneMade(brokerId: number, dataPlane: DataPlane, alive: () => boolean): void;
  crashed(brokerId: number, options: CrashOptions): void;
}

export interface CrashOptions {
  /** The power fails: what was not synced is lost or torn. Default: only the process dies. */
  readonly loseUnsynced?: boolean;
}

interface Life {
  readonly clock: ProcessClock;
  readonly logger: Logger;
  readonly die: (error: TributaryError) => void;
  logs: LogStore | undefined;
  coordinator: EmbeddedCoordinator | undefined;
  broker: Broker | undefined;
}

const DIRECTORY = '/data';
const PORT = 9292;

export class SimulatedBroker {
  readonly disk = new SimulatedDisk();
  readonly machine: string;
  readonly address: Address;
  private life: Life | undefined;
  /** Stands for the file beside the logs. */
  private ticket: SessionTicket | undefined;
  /** Of a datasync, at most; undefined: none. */
  syncMs: number | undefined;
  private stopped = false;

  constructor(
    private readonly world: BrokerWorld,
    readonly brokerId: number,
  ) {
    this.machine = `broker-${brokerId}`;
    this.address = { host: this.machine, port: PORT };
    this.syncMs = world.settings.syncMs;
    this.disk.syncTime = () => this.syncTime();
  }

  get running(): boolean {
    return this.life !== undefined;
  }

  get status(): BrokerStatus | undefined {
    return this.life?.broker?.status();
  }

  get ready(): boolean {
    return this.status?.notReadyReasons.length === 0;
  }

  /** It said that it cannot go on: its process would exit. */
  fatal = false;

  /** Stopped by `pause`. */
  get paused(): boolean {
    return this.stopped;
  }

  get sessionId(): string | undefined {
    return this.life?.coordinator?.sessionId;
  }

  /** Of its current life. */
  get logs(): LogStore | undefined {
    return this.life?.logs;
  }

  /** Resolves once registered; rejects with CLOSED when it crashes before. */
  async start(): Promise<void> {
    assert(!this.life, `${this.machine} runs already`);
    let die: Life['die'] = () => undefined;
    const died = new Promise<never>((_, reject) => (die = reject));
    const clock = new ProcessClock(this.world.clock);
    const logger = this.loggerOf(clock);
    const nothing = { logs: undefined, coordinator: undefined, broker: undefined };
    const life: Life = { clock, logger, die, ...nothing };
    this.life = life;
    this.fatal = false;
    await Promise.race([died, this.begin(life)]);
  }

  /** As SIGSTOP: it notices nothing of it but the time that has passed. */
  pause(): void {
    const { life } = this;
    assert(life && !this.stopped, `${this.machine} does not run`);
    this.stopped = true;
    life.clock.pause();
    this.world.network.pause(this.machine);
    if (life.coordinator) this.world.ensemble.freeze(life.coordinator);
  }

  /** As SIGCONT. */
  resume(): void {
    if (!this.stopped) return;
    this.stopped = false;
    const { life, world } = this;
    if (!life) return;
    life.clock.resume();
    world.network.resume(this.machine);
    if (life.coordinator) world.ensemble.thaw(life.coordinator);
  }

  /** It does not reach the coordinator; its session runs out, unless `findCoordinator` comes before. */
  loseCoordinator(): void {
    if (this.life?.coordinator) this.world.ensemble.disconnect(this.life.coordinator);
  }

  findCoordinator(): void {
    if (this.life?.coordinator) this.world.ensemble.reconnect(this.life.coordinator);
  }

  /** Its machine's wall clock jumps. */
  jumpWallTime(byMs: number): void {
    this.life?.clock.jumpWallTime(byMs);
  }

  crash({ loseUnsynced = false }: CrashOptions = {}): void {
    const { life } = this;
    assert(life, `${this.machine} does not run`);
    const { random, network, ensemble } = this.world;
    this.life = undefined;
    this.stopped = false;
    life.clock.die();
    network.crash(this.machine);
    if (life.coordinator) ensemble.abandon(life.coordinator);
    this.disk.crash({ loseUnsynced, random });
    this.world.settings.observer?.crashed(this.brokerId, { loseUnsynced });
    life.die(new TributaryError('CLOSED', `${this.machine} crashed`));
  }

  /** In order, leaderships handed over first. */
  async stop(): Promise<void> {
    const { life } = this;
    if (!life) return;
    await life.broker?.stop({ graceful: true });
    if (this.life !== life) return; // it crashed meanwhile
    this.life = undefined;
    life.clock.die();
  }

  private async begin(life: Life): Promise<void> {
    const { ensemble, sessionTimeoutMs } = this.world;
    life.logs = await this.openLogs(this.disk.mount(), life);
    this.world.settings.observer?.logsOpened(this.brokerId, life.logs, () => this.life === life);
    life.coordinator = ensemble.connect({ sessionTimeoutMs, clock: life.clock });
    life.broker = this.makeBroker(life, life.logs, life.coordinator);
    await life.broker.start();
  }

  /** Silent once that process is dead: what it had begun fails on a disk that is not its own any more. */
  private loggerOf(clock: ProcessClock): Logger {
    const logger = this.world.loggerOf(this.brokerId);
    const at =
      (level: keyof Logger): Logger['info'] =>
      (message, fields) => {
        if (clock.alive) logger[level](message, fields);
      };
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  private openLogs(disk: Disk, { clock, logger }: Life): Promise<LogStore> {
    const { brokerId } = this;
    const { random, settings } = this.world;
    const { logDirectories, maintenanceIntervalMs } = settings;
    const config = parseTopicConfig({}, 1);
    const configFor = (): typeof config => config;
    const parts = { disk, brokerId, clock, random, logger, configFor };
    const options = { ...parts, maintenanceIntervalMs };
    if (!logDirectories) return LogDirectory.open({ ...options, directory: DIRECTORY });
    return LogDirectories.open({ ...options, directories: logDirectories });
  }

  private makeBroker(life: Life, logStore: LogStore, coordinator: EmbeddedCoordinator): Broker {
    const { brokerId, machine, address, ticket } = this;
    const { random, network, settings } = this.world;
    const { limits, dataLimits, observer } = settings;
    const { logger } = life;
    return new Broker({
      brokerId,
      listeners: [{ name: 'inside', bind: address, advertised: address }],
      interBrokerListener: 'inside',
      hostname: machine,
      clock: life.clock,
      random,
      logger,
      transport: network.transport(machine),
      coordinator,
      logStore,
      limits,
      dataLimits,
      dataPlane: (context) => {
        const dataPlane = createDataPlane(context, dataLimits);
        observer?.dataPlaneMade(brokerId, dataPlane, () => this.life === life);
        return dataPlane;
      },
      ...(ticket ? { previousTicket: ticket } : {}),
      saveSessionTicket: (saved) => {
        if (this.life === life) this.ticket = saved;
      },
      onFatal: (error) => {
        this.fatal = true;
        logger.error('the broker cannot go on', { error });
      },
    });
  }

  private async syncTime(): Promise<void> {
    const { life, syncMs } = this;
    if (syncMs === undefined || !life) return;
    await sleep(life.clock, this.world.random.next() * syncMs);
  }
}
