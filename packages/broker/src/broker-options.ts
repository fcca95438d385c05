/**
 * What a Broker is made of and what it tells about itself. The server (packages/server), the embedded
 * cluster and the simulation fill this in; nothing in the broker reads configuration or environment.
 */
import type { Clock, Logger, Random, TributaryError } from '@tributary/common';
import type { Coordinator, SessionTicket } from '@tributary/coordination';
import type { LogStore, PreviousStop } from '@tributary/log';
import type { Address, Transport } from '@tributary/protocol';
import type { ControlLimits } from './control-limits';
import type { DataPlaneFactory, PartitionStatus } from './data-plane';
import type { DataLimits } from './replication/data-limits';

export interface BrokerListener {
  readonly name: string;
  readonly bind: Address;
  /** Port 0: the one really bound. */
  readonly advertised: Address;
}

export interface BrokerOptions {
  readonly brokerId: number;
  readonly rack?: string;
  /** At least one; names are unique. */
  readonly listeners: readonly BrokerListener[];
  /** The name of the listener that controllers and followers dial. */
  readonly interBrokerListener: string;
  /** For the message when two brokers claim one id. */
  readonly hostname: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** This broker's own: `stop` and `kill` close it. */
  readonly transport: Transport;
  /** This broker's own session; `stop` ends it, `kill` leaves it to expire. */
  readonly coordinator: Coordinator;
  /** Recovered. Undefined only with a data plane that has no logs (tests). */
  readonly logStore?: LogStore;
  readonly limits?: Partial<ControlLimits>;
  readonly dataLimits?: Partial<DataLimits>;
  /** Of an earlier process of this data directory: ended at start, so that its ephemerals go at once. */
  readonly previousTicket?: SessionTicket;
  /** Called with each new session; undefined after a clean stop. */
  saveSessionTicket?(ticket: SessionTicket | undefined): void;
  /** The broker cannot go on (its id was taken while its session was over): the process should exit. */
  onFatal?(error: TributaryError): void;
  /** Default: the real one. */
  readonly dataPlane?: DataPlaneFactory;
}

/** For health, metrics and `trib dev status`. */
export interface BrokerStatus {
  readonly brokerId: number;
  readonly clusterId: string | undefined;
  readonly listeners: readonly { readonly name: string; readonly address: Address }[];
  readonly registered: boolean;
  readonly brokerEpoch: number | undefined;
  /** This broker is the controller now. */
  readonly isController: boolean;
  readonly controllerId: number | undefined;
  readonly controllerEpoch: number | undefined;
  readonly imageSequence: number | undefined;
  readonly isolated: boolean;
  readonly coordinatorStatus: string;
  /** Empty: ready. */
  readonly notReadyReasons: readonly string[];
  readonly partitions: readonly PartitionStatus[];
  /** How the process before this one ended. undefined: it has no logs. */
  readonly previousStop?: PreviousStop;
}
