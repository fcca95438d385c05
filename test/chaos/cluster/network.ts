/**
 * A network between brokers and ZooKeeper that can lose packets by order, and only those between brokers, or between a
 * broker and ZooKeeper: clients always get through. Two kinds: namespaces (root on Linux), proxies (any user).
 */
import type { BrokerPlace } from '@tributary/testkit';

export const networkKinds = ['namespaces', 'proxies'] as const;
export type NetworkKind = (typeof networkKinds)[number];

export type Host = number | 'zookeeper';

/** What is sent from one to the other is lost; the way back is a link of its own. */
export interface Link {
  readonly from: Host;
  readonly to: Host;
}

export interface Network {
  readonly kind: NetworkKind;
  /** Address that ZooKeeper binds; undefined: loopback. */
  readonly zookeeperHost: string | undefined;
  place(brokerId: number): BrokerPlace;
  /** Of that broker, whose port for clients and whose ZooKeeper are these. */
  flags(brokerId: number, given: { port: number; zookeeper: string }): string[];
  /** From now on these links, in addition to those cut before, lose everything without a word. */
  cut(links: readonly Link[]): Promise<void>;
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** Both ways. */
export function between(a: Host, b: Host): Link[] {
  return [
    { from: a, to: b },
    { from: b, to: a },
  ];
}
