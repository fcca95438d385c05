/** What a development cluster is made of. Used by `trib dev up`, the tests and the chaos runner. */
import type { ZooKeeperInstallation } from './zookeeper';

/** Where and how the process of a broker runs, where that is not the usual way. */
export interface BrokerPlace {
  /** Address that it binds and tells others. Default 127.0.0.1. */
  readonly host?: string;
  /** A command that runs the one behind it, such as one that enters a network namespace. */
  readonly within?: readonly string[];
  /** Instead of the broker's own entry point. */
  readonly script?: string;
  /** Further environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface DevClusterOptions {
  /** Default 3; ids are 1, 2, 3 ... */
  readonly brokers?: number;
  /** Default 1. */
  readonly zookeeperNodes?: 1 | 3;
  /** Use this ensemble (host:port,.../chroot) instead of starting one. */
  readonly zookeeper?: string;
  /** Default: what `locateZooKeeper` finds. */
  readonly installation?: ZooKeeperInstallation;
  /** Brokers in one process on the in-memory coordinator; data are temporary. */
  readonly embedded?: boolean;
  /** Holds data and logs, kept by `stop`. Default: a temporary one, removed by `stop`. */
  readonly directory?: string;
  /** gRPC port of broker 1, the others follow. Default (and 0): free ports. */
  readonly port?: number;
  /** HTTP port of broker 1, the others follow. Default (and 0): free ports. */
  readonly httpPort?: number;
  /** Client port of ZooKeeper node 1, the others follow. Default (and 0): free ports. */
  readonly zookeeperPort?: number;
  /** Address that ZooKeeper binds. Default 127.0.0.1. */
  readonly zookeeperHost?: string;
  /** Default: the broker's own, 10 s. */
  readonly sessionTimeoutMs?: number;
  /** Further flags of brokers, for all or by id; they win over those that the cluster gives. */
  readonly flags?:
    | readonly string[]
    | ((brokerId: number, given: { port: number; zookeeper: string }) => readonly string[]);
  /** Default: loopback, and the broker's own entry point. */
  readonly place?: (brokerId: number) => BrokerPlace;
  /** Further environment of brokers. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long `start` waits until all are healthy. Default 60 000. */
  readonly healthyTimeoutMs?: number;
  /** Aborting it ends the wait of `start`, which then stops all and rejects with CANCELLED. */
  readonly signal?: AbortSignal;
  /** One readable line for each thing that happens. */
  readonly onEvent?: (line: string) => void;
}

export const MAX_BROKERS = 9;
