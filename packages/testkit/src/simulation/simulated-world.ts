/**
 * What transports, connections and listeners want of the simulated network. Implemented by SimulatedNetwork; apart
 * from it so that imports stay free of cycles.
 */
import type { Logger } from '@tributary/common';
import type { Address } from '@tributary/protocol';
import type { SimulatedMachine } from './simulated-machine';
import type { SimulatedPipe } from './simulated-pipe';
import type { SimulatedStream } from './simulated-stream';

export interface SimulatedNetworkLimits {
  /** Silence between two machines after which streams between them are lost. */
  readonly keepaliveMs: number;
  /** How long a stream that was opened may wait for the acceptor. */
  readonly dialTimeoutMs: number;
  /** `send` returns false while more than this was sent and not read. */
  readonly writeLimitBytes: number;
  /** A sender that goes on nevertheless is cut with OVERLOADED here. */
  readonly queueLimitBytes: number;
}

/** A bound address. */
export interface ListeningPoint {
  readonly address: Address;
  readonly machine: SimulatedMachine;
  accept<Out, In>(path: string, dialer: SimulatedStream<Out, In>, back: SimulatedPipe): void;
}

export interface SimulatedWorld {
  readonly limits: SimulatedNetworkLimits;
  readonly logger: Logger;
  pipe(from: string, to: string): SimulatedPipe;
  freePort(): number;
  /** False: somebody listens there already. */
  register(point: ListeningPoint): boolean;
  unregister(point: ListeningPoint): void;
  listenerAt(address: Address): ListeningPoint | undefined;
  /** The machine at an address, alive or not; `dialer` itself where nobody ever was. */
  machineNameAt(address: Address, dialer: string): string;
}
