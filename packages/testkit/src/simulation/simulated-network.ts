/**
 * A network of named machines in one process, on a simulated clock: delays, refusals, crashes and partitions from a
 * seed. Invariant: the same seed and the same calls give the same order of events; a machine that crashed never
 * hears of anything again. Each machine's Transport keeps the port's contract (one suite runs on it and on gRPC).
 * Called by simulations and by unit tests of everything that talks.
 */
import { assert, silentLogger, type Clock, type Logger, type Random } from '@tributary/common';
import type { Address, Transport } from '@tributary/protocol';
import { SimulatedMachine } from './simulated-machine';
import { SimulatedPipe, type NetworkArrival, type PipeWorld } from './simulated-pipe';
import { SimulatedTransport } from './simulated-transport';
import type { ListeningPoint, SimulatedNetworkLimits, SimulatedWorld } from './simulated-world';

export type { NetworkArrival, SimulatedNetworkLimits };

export interface SimulatedNetworkOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger?: Logger;
  readonly limits?: Partial<SimulatedNetworkLimits>;
  /** Sees everything that arrives anywhere, before its receiver does. */
  observe?(arrival: NetworkArrival): void;
}

/** Of each message, one way; uniform between the two. */
export interface NetworkDelay {
  readonly minMs: number;
  readonly maxMs: number;
  /** Share of messages that take up to `slowMs` instead, and so does what follows on their stream. Default 0. */
  readonly slowShare?: number;
  readonly slowMs?: number;
}

const defaultLimits: SimulatedNetworkLimits = {
  keepaliveMs: 5_000,
  dialTimeoutMs: 3_000,
  writeLimitBytes: 4_194_304,
  queueLimitBytes: 268_435_456,
};

/** Ports that `listen` with port 0 gives out begin here. */
const firstFreePort = 20_000;

export class SimulatedNetwork implements PipeWorld, SimulatedWorld {
  readonly clock: Clock;
  readonly limits: SimulatedNetworkLimits;
  readonly logger: Logger;
  private readonly random: Random;
  private delay: NetworkDelay = { minMs: 0.1, maxMs: 1 };
  private readonly machines = new Map<string, SimulatedMachine>();
  private readonly listeners = new Map<string, ListeningPoint>();
  /** Which machine last listened there: it refuses when it does not listen any more. */
  private readonly owners = new Map<string, string>();
  /** `from>to`. */
  private readonly partitions = new Set<string>();
  private readonly paused = new Set<string>();
  private readonly holding = new Set<SimulatedPipe>();
  private portsGiven = 0;

  constructor(private readonly options: SimulatedNetworkOptions) {
    this.clock = options.clock;
    this.random = options.random;
    this.logger = options.logger ?? silentLogger;
    this.limits = { ...defaultLimits, ...options.limits };
  }

  /** A machine's life begins: its first, or a new one after `crash` or the transport's `close`. */
  transport(machineName: string): Transport {
    const before = this.machines.get(machineName);
    assert(!before || before.over, `${machineName} lives already: crash or close it first`);
    const machine = new SimulatedMachine(machineName, this.clock);
    this.machines.set(machineName, machine);
    return new SimulatedTransport(this, machine);
  }

  /** As kill -9: its kernel closes the sockets, its code is never called again. */
  crash(machineName: string): void {
    this.machines.get(machineName)?.crash();
    this.paused.delete(machineName);
    this.release();
    for (const [key, listener] of this.listeners) {
      if (listener.machine.name === machineName) this.listeners.delete(key);
    }
  }

  /** Nothing arrives any more, and nobody is told; streams are lost when it lasts. One way: only from a to b. */
  partition(a: string, b: string, options: { readonly oneWay?: boolean } = {}): void {
    this.partitions.add(`${a}>${b}`);
    if (!options.oneWay) this.partitions.add(`${b}>${a}`);
    this.clock.setTimer(this.limits.keepaliveMs, () => {
      if (!this.isPartitioned(a, b) && !this.isPartitioned(b, a)) return;
      this.machines.get(a)?.loseStreamsTo(b);
      this.machines.get(b)?.loseStreamsTo(a);
    });
  }

  /** Between these two, or everywhere. What was held back goes on its way again. */
  heal(a?: string, b?: string): void {
    if (a === undefined || b === undefined) {
      this.partitions.clear();
    } else {
      this.partitions.delete(`${a}>${b}`);
      this.partitions.delete(`${b}>${a}`);
    }
    this.release();
  }

  /** All connections between these two break, and both are told. They may dial anew at once. */
  reset(a: string, b: string): void {
    this.machines.get(a)?.loseStreamsTo(b);
    this.machines.get(b)?.loseStreamsTo(a);
  }

  /**
   * As SIGSTOP, of a machine with one process: nothing of it runs, nothing arrives. When it lasts, the others lose their
   * streams; it learns that after `resume`, behind all that came before.
   */
  pause(machineName: string): void {
    const machine = this.machines.get(machineName);
    if (!machine?.alive) return;
    this.paused.add(machineName);
    machine.clock.pause();
    this.clock.setTimer(this.limits.keepaliveMs, () => {
      if (!this.paused.has(machineName) || this.machines.get(machineName) !== machine) return;
      for (const other of this.machines.values()) other.loseStreamsTo(machineName);
      machine.missedKeepalive = true;
    });
  }

  resume(machineName: string): void {
    const machine = this.machines.get(machineName);
    if (!machine || !this.paused.delete(machineName)) return;
    machine.clock.resume();
    this.release();
    if (!machine.missedKeepalive) return;
    machine.missedKeepalive = false;
    const stale = [...machine.streams];
    this.clock.setTimer(this.delay.maxMs, () => {
      for (const stream of stale) if (machine.streams.has(stream)) stream.lost();
    });
  }

  private release(): void {
    for (const pipe of [...this.holding]) {
      if (this.isBlocked(pipe.from, pipe.to)) continue;
      this.holding.delete(pipe);
      pipe.release();
    }
  }

  setDelay(delay: NetworkDelay): void {
    this.delay = delay;
  }

  nextDelayMs(): number {
    const { minMs, maxMs, slowShare = 0, slowMs = 0 } = this.delay;
    if (slowShare > 0 && this.random.next() < slowShare) return this.random.next() * slowMs;
    return minMs + this.random.next() * (maxMs - minMs);
  }

  isPartitioned(from: string, to: string): boolean {
    return this.partitions.has(`${from}>${to}`);
  }

  isBlocked(from: string, to: string): boolean {
    return this.isPartitioned(from, to) || this.paused.has(to);
  }

  onHeld(pipe: SimulatedPipe): void {
    this.holding.add(pipe);
  }

  onArrival(arrival: NetworkArrival): void {
    this.options.observe?.(arrival);
  }

  pipe(from: string, to: string): SimulatedPipe {
    return new SimulatedPipe(this, from, to);
  }

  freePort(): number {
    this.portsGiven += 1;
    return firstFreePort + this.portsGiven;
  }

  register(point: ListeningPoint): boolean {
    const key = keyOf(point.address);
    if (this.listeners.has(key)) return false;
    this.listeners.set(key, point);
    this.owners.set(key, point.machine.name);
    return true;
  }

  unregister(point: ListeningPoint): void {
    const key = keyOf(point.address);
    if (this.listeners.get(key) === point) this.listeners.delete(key);
  }

  listenerAt(address: Address): ListeningPoint | undefined {
    const exact = this.listeners.get(keyOf(address));
    if (exact) return exact;
    // A machine's own name reaches whatever listens on it, on whatever interface.
    return [...this.listeners.values()].find(
      (listener) =>
        listener.machine.name === address.host && listener.address.port === address.port,
    );
  }

  machineNameAt(address: Address, dialer: string): string {
    if (this.machines.has(address.host)) return address.host;
    return this.owners.get(keyOf(address)) ?? dialer;
  }
}

function keyOf({ host, port }: Address): string {
  return `${host}:${port}`;
}
