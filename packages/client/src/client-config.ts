/**
 * The configuration of a client: checked completely when the client is made, so that a wrong setting is one
 * error that names every problem. Dials nothing.
 */
import type { Clock, Logger, Random } from '@tributary/common';
import type { Coordinator } from '@tributary/coordination';
import type { Address, Transport } from '@tributary/protocol';
import type { CodecSet } from '@tributary/record';
import { Problems } from './config-problems';

export interface ClientOptions {
  /** `['host:port', ...]`: find the cluster through any of these brokers. This, or `zookeeper`. */
  readonly brokers?: readonly string[];
  /** `host:port,host:port/chroot`: find the brokers in ZooKeeper, and keep groups there. */
  readonly zookeeper?: string;
  /** Shown in the brokers' logs and in groups. Default `tributary-client`. */
  readonly clientId?: string;
  /** Which of the brokers' endpoints to use. Default: `outside` in ZooKeeper; the one that answers, through brokers. */
  readonly listener?: string;
  /** Any object with debug, info, warn and error. Default: warnings to the console's error stream. */
  readonly logger?: Logger;
  /** How long one call to a broker may take. Default 10000. */
  readonly requestTimeoutMs?: number;
  /** Of the client's own ZooKeeper session, where it has one. Default 10000. */
  readonly sessionTimeoutMs?: number;
  /** Wait for topics that do not exist yet instead of failing with UNKNOWN_TOPIC. Default false. */
  readonly waitForTopic?: boolean;
  /** For tests and the simulation: what the client would otherwise make itself, and then would close itself. */
  readonly transport?: Transport;
  readonly coordinator?: Coordinator;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly codecs?: CodecSet;
}

export interface ClientConfig {
  readonly clientId: string;
  readonly bootstrap: readonly Address[] | undefined;
  readonly zookeeper: string | undefined;
  readonly listener: string | undefined;
  readonly requestTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly waitForTopic: boolean;
}

const KNOWN = new Set<string>([
  'brokers',
  'zookeeper',
  'clientId',
  'listener',
  'logger',
  'requestTimeoutMs',
  'sessionTimeoutMs',
  'waitForTopic',
  'transport',
  'coordinator',
  'clock',
  'random',
  'codecs',
] satisfies (keyof ClientOptions)[]);

/** Throws INVALID_CONFIG listing every problem. */
export function checkClientOptions(options: ClientOptions): ClientConfig {
  const problems = new Problems();
  problems.unknownSettings(options, KNOWN);
  const { brokers, zookeeper, coordinator } = options;
  if (brokers !== undefined && zookeeper !== undefined) {
    problems.add('brokers and zookeeper exclude each other: give one of them');
  }
  if (brokers === undefined && zookeeper === undefined && coordinator === undefined) {
    problems.add('one of brokers and zookeeper is needed');
  }
  const bootstrap = brokers === undefined ? undefined : checkBrokers(brokers, problems);
  if (zookeeper !== undefined) checkConnectString(zookeeper, problems);
  problems.text('clientId', options.clientId);
  problems.text('listener', options.listener);
  problems.milliseconds('requestTimeoutMs', options.requestTimeoutMs);
  problems.milliseconds('sessionTimeoutMs', options.sessionTimeoutMs);
  problems.flag('waitForTopic', options.waitForTopic);
  problems.throwIfAny('the client');
  return {
    clientId: options.clientId ?? 'tributary-client',
    bootstrap,
    zookeeper,
    listener: options.listener,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
    waitForTopic: options.waitForTopic ?? false,
  };
}

function checkBrokers(brokers: readonly string[], problems: Problems): Address[] {
  if (!Array.isArray(brokers) || brokers.length === 0) {
    problems.add("brokers is not a list of 'host:port'");
    return [];
  }
  const addresses: Address[] = [];
  for (const text of brokers as readonly unknown[]) {
    const address = typeof text === 'string' ? parseAddress(text) : undefined;
    if (address) addresses.push(address);
    else problems.add(`brokers: ${JSON.stringify(text)} has not the form host:port`);
  }
  return addresses;
}

function checkConnectString(zookeeper: unknown, problems: Problems): void {
  if (typeof zookeeper !== 'string') {
    problems.add('zookeeper is not a text of the form host:port,host:port/chroot');
    return;
  }
  const slash = zookeeper.indexOf('/');
  const hosts = slash < 0 ? zookeeper : zookeeper.slice(0, slash);
  for (const host of hosts.split(',')) {
    // ZooKeeper's own rules: the port may be left out, an IPv6 address in brackets is not understood.
    const valid = host.includes('[') ? false : (parseAddress(host) ?? /^[^\s:[\]]+$/.test(host));
    if (!valid) {
      problems.add(`zookeeper: ${JSON.stringify(host)} has not the form host:port`);
    }
  }
  const chroot = slash < 0 ? '' : zookeeper.slice(slash);
  if (chroot !== '' && chroot !== '/' && !/^(\/[^/\s]+)+\/?$/.test(chroot)) {
    problems.add(`zookeeper: the chroot ${JSON.stringify(chroot)} is not a path`);
  }
}

/** `host:port` or `[v6]:port`; undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:[\]/]+)):([0-9]{1,5})$/.exec(text.trim());
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port >= 1 && port <= 65_535)) return undefined;
  return { host, port };
}
