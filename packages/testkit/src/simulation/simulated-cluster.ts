/**
 * A whole cluster in one process, from one seed: real brokers on simulated machines, real clients, the embedded
 * ensemble, a simulated clock that drives it all. Invariant: the same seed and the same calls give the same run,
 * event by event (`trace`). Everything here takes simulated time: await it inside `run`, which lets time pass.
 * Called by test/simulation.
 */
import { createClient, type Client } from '@tributary/client';
import {
  seededRandom,
  silentLogger,
  sleep,
  type LogFields,
  type Logger,
  type Random,
} from '@tributary/common';
import {
  EmbeddedEnsemble,
  type EmbeddedFaults,
  type EmbeddedTransaction,
} from '@tributary/coordination';
import { EventTrace } from './event-trace';
import { ProcessClock } from './process-clock';
import { SimulatedBroker, type BrokerSettings, type CrashOptions } from './simulated-broker';
import { SimulatedClock } from './simulated-clock';
import { SimulatedNetwork } from './simulated-network';
import { storedCodecs } from './stored-codecs';

export interface SimulatedClusterOptions extends BrokerSettings {
  readonly seed: number;
  /** Default 3; their ids are 1, 2, 3 ... */
  readonly brokers?: number;
  /** Of the brokers' sessions. Default 6000. */
  readonly sessionTimeoutMs?: number;
  /** What the coordinator does to its clients; read at each of its turns. Default: nothing. */
  readonly coordinatorFaults?: Omit<EmbeddedFaults, 'random'>;
  /** Sees each transaction of the coordinator. */
  observeTransaction?(transaction: EmbeddedTransaction): void;
  /** Is told each event and each logged line, as they come. */
  onLine?(line: string): void;
  /** Lines of the trace to remember. Default 0. */
  readonly keepTraceLines?: number;
}

/** One line that a broker or client logged, of what is worth knowing. */
export interface LoggedLine {
  readonly atMs: number;
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
}

/** The oldest are dropped. */
const MAX_LOGGED_LINES = 10_000;
const POLL_MS = 5;
const READY_MS = 30_000;

export class SimulatedCluster {
  readonly clock = new SimulatedClock();
  readonly random: Random;
  readonly network: SimulatedNetwork;
  readonly ensemble: EmbeddedEnsemble;
  readonly trace: EventTrace;
  readonly logged: LoggedLine[] = [];
  private readonly brokers = new Map<number, SimulatedBroker>();
  private readonly clients: Client[] = [];

  constructor(private readonly options: SimulatedClusterOptions) {
    const { seed, brokers = 3, sessionTimeoutMs = 6_000, coordinatorFaults } = options;
    const { clock } = this;
    const random = seededRandom(seed);
    this.random = random;
    this.trace = new EventTrace(options.keepTraceLines, options.onLine);
    this.network = new SimulatedNetwork({
      clock,
      random,
      observe: (arrival) => this.trace.arrival(clock.now(), arrival),
    });
    this.ensemble = new EmbeddedEnsemble({
      clock,
      random,
      ...(coordinatorFaults ? { faults: Object.assign(coordinatorFaults, { random }) } : {}),
      observe: (transaction) => options.observeTransaction?.(transaction),
    });
    const { network, ensemble } = this;
    const loggerOf = (brokerId: number): Logger => this.loggerOf(`broker-${brokerId}`);
    const world = {
      clock,
      random,
      network,
      ensemble,
      sessionTimeoutMs,
      loggerOf,
      settings: options,
    };
    for (let brokerId = 1; brokerId <= brokers; brokerId += 1) {
      this.brokers.set(brokerId, new SimulatedBroker(world, brokerId));
    }
  }

  /** Lets time pass until the work is done; throws when it takes more than `withinMs`. Not from inside itself. */
  run<T>(work: () => Promise<T>, withinMs: number): Promise<T> {
    return this.clock.settleWithin(work(), withinMs);
  }

  get brokerIds(): number[] {
    return [...this.brokers.keys()];
  }

  broker(brokerId: number): SimulatedBroker {
    const broker = this.brokers.get(brokerId);
    if (!broker) throw new Error(`there is no broker ${brokerId}`);
    return broker;
  }

  /** All that do not run. Resolves when every broker is ready. */
  async start(): Promise<void> {
    const down = [...this.brokers.values()].filter(({ running }) => !running);
    await Promise.all(down.map((broker) => broker.start()));
    await this.until(() => [...this.brokers.values()].every(({ ready }) => ready), READY_MS);
  }

  /** On a machine of its own; closed by `stop`. */
  client(machine: string): Client {
    const client = createClient({
      brokers: [...this.brokers.values()].map(({ address: { host, port } }) => `${host}:${port}`),
      clientId: machine,
      transport: this.network.transport(machine),
      clock: new ProcessClock(this.clock),
      random: this.random,
      codecs: storedCodecs,
      logger: this.loggerOf(machine),
    });
    this.clients.push(client);
    return client;
  }

  crash(brokerId: number, options: CrashOptions = {}): void {
    const how = options.loseUnsynced ? 'loses its power' : 'is killed';
    this.note(`broker ${brokerId} ${how}`);
    this.broker(brokerId).crash(options);
  }

  /** Resolves when it is ready. */
  async restart(brokerId: number): Promise<void> {
    this.note(`broker ${brokerId} starts again`);
    const broker = this.broker(brokerId);
    await broker.start();
    await this.until(() => !broker.running || broker.ready, READY_MS);
  }

  /** Names of machines: `broker-1`, or a client's. */
  partition(a: string, b: string, options: { readonly oneWay?: boolean } = {}): void {
    this.note(`nothing arrives from ${a} at ${b}${options.oneWay ? '' : ', nor back'}`);
    this.network.partition(a, b, options);
  }

  heal(): void {
    this.note('the network is whole');
    this.network.heal();
  }

  get controllerId(): number | undefined {
    return this.brokerIds.find((id) => this.broker(id).status?.isController);
  }

  /** Who takes itself for the leader; after a partition it may be more than one, in different epochs. */
  leadersOf(partition: number): number[] {
    return this.brokerIds.filter((id) =>
      this.broker(id).status?.partitions.some(
        (replica) => replica.partition === partition && replica.role === 'leader',
      ),
    );
  }

  async until(condition: () => boolean, withinMs: number): Promise<void> {
    const end = this.clock.now() + withinMs;
    while (!condition()) {
      if (this.clock.now() >= end) throw new Error(`not within ${withinMs} simulated ms`);
      await sleep(this.clock, POLL_MS);
    }
  }

  /** Clients first, then the brokers, all in order. */
  async stop(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await Promise.all([...this.brokers.values()].map((broker) => broker.stop()));
  }

  /** Into the log of the run, and its trace. */
  note(text: string): void {
    this.trace.note(this.clock.now(), text);
    this.log('info', text);
  }

  private loggerOf(machine: string): Logger {
    const at =
      (level: LoggedLine['level']) =>
      (message: string, fields: LogFields = {}): void =>
        this.log(level, `${machine}: ${message} ${JSON.stringify(fields, errorsAsText)}`);
    return { ...silentLogger, info: at('info'), warn: at('warn'), error: at('error') };
  }

  private log(level: LoggedLine['level'], text: string): void {
    this.logged.push({ atMs: this.clock.now(), level, text });
    this.options.onLine?.(`${this.clock.now().toFixed(3)} ${level} ${text}`);
    if (this.logged.length > MAX_LOGGED_LINES) this.logged.shift();
  }
}

function errorsAsText(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}
