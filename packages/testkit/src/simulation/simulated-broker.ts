/**
 * One simulated machine with a real Broker on it, through all its lives: the disk stays, everything else is made
 * anew by each `start`. Invariant: after `crash` nothing of the old life is heard of again, neither on the network
 * nor by the coordinator nor on the disk nor in the logs, as after kill -9. Called by SimulatedCluster.
 */
import { Broker, type BrokerStatus } from '@tributary/broker';
import {
  assert,
  parseTopicConfig,
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
  /** Default: one, `/data`. */
  readonly logDirectories?: readonly string[];
  loggerOf(brokerId: number): Logger;
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

  constructor(
    private readonly world: BrokerWorld,
    readonly brokerId: number,
  ) {
    this.machine = `broker-${brokerId}`;
    this.address = { host: this.machine, port: PORT };
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
    await Promise.race([died, this.begin(life)]);
  }

  crash({ loseUnsynced = false }: CrashOptions = {}): void {
    const { life } = this;
    assert(life, `${this.machine} does not run`);
    const { random, network, ensemble } = this.world;
    this.life = undefined;
    life.clock.die();
    network.crash(this.machine);
    if (life.coordinator) ensemble.abandon(life.coordinator);
    this.disk.crash({ loseUnsynced, random });
    life.die(new TributaryError('CLOSED', `${this.machine} crashed`));
  }

  /** In order, leaderships handed over first. */
  async stop(): Promise<void> {
    const { life } = this;
    if (!life) return;
    await life.broker?.stop({ graceful: true });
    this.life = undefined;
  }

  private async begin(life: Life): Promise<void> {
    const { ensemble, sessionTimeoutMs } = this.world;
    life.logs = await this.openLogs(this.disk.mount(), life);
    life.coordinator = ensemble.connect({ sessionTimeoutMs });
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
    const { random, logDirectories } = this.world;
    const config = parseTopicConfig({}, 1);
    const configFor = (): typeof config => config;
    const options = { disk, brokerId, clock, random, logger, configFor };
    if (!logDirectories) return LogDirectory.open({ ...options, directory: DIRECTORY });
    return LogDirectories.open({ ...options, directories: logDirectories });
  }

  private makeBroker(life: Life, logStore: LogStore, coordinator: EmbeddedCoordinator): Broker {
    const { brokerId, machine, address, ticket } = this;
    const { random, network } = this.world;
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
      ...(ticket ? { previousTicket: ticket } : {}),
      saveSessionTicket: (saved) => {
        if (this.life === life) this.ticket = saved;
      },
      onFatal: (error) => logger.error('the broker cannot go on', { error }),
    });
  }
}
