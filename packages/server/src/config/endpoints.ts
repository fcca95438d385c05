/**
 * Addresses in settings: `NAME://HOST:PORT` lists and ZooKeeper connect strings. Parsing only; throws plain
 * Errors whose message completes the sentence "SETTING=VALUE ...".
 */
import type { Endpoint } from '@tributary/coordination';

export interface ZooKeeperAddress {
  /** host:port,host:port */
  readonly servers: string;
  /** '' or '/a/b' */
  readonly chroot: string;
}

/** At most this many listeners: each costs a server socket. */
const MAX_LISTENERS = 8;

export function parseListeners(text: string): Endpoint[] {
  const endpoints = text.split(',').map((part) => parseListener(part.trim()));
  if (endpoints.length > MAX_LISTENERS)
    throw new Error(`names more than ${MAX_LISTENERS} listeners`);
  const names = new Set(endpoints.map((endpoint) => endpoint.listener));
  if (names.size < endpoints.length) throw new Error('names a listener twice');
  return endpoints;
}

function parseListener(text: string): Endpoint {
  const match = /^([a-z][a-z0-9_-]{0,31}):\/\/(\[[0-9a-fA-F:.]+\]|[^:/\s[\]]+):([0-9]{1,5})$/.exec(
    text,
  );
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new Error('is not of the form NAME://HOST:PORT, such as outside://127.0.0.1:9292');
  }
  return { listener: match[1]!, host: match[2]!.replace(/^\[|\]$/g, ''), port };
}

export function parseZooKeeper(text: string): ZooKeeperAddress {
  const slash = text.indexOf('/');
  const servers = slash < 0 ? text : text.slice(0, slash);
  const chroot = slash < 0 ? '' : text.slice(slash).replace(/\/+$/, '');
  for (const server of servers.split(',')) {
    const match = /^[^:/\s]+:([0-9]{1,5})$/.exec(server.trim());
    if (!match || Number(match[1]) < 1 || Number(match[1]) > 65535) {
      throw new Error('is not of the form HOST:PORT[,HOST:PORT...][/CHROOT]');
    }
  }
  if (chroot !== '' && !/^(\/[^/\s]+)+$/.test(chroot)) throw new Error('has an invalid chroot');
  return { servers: servers.replaceAll(' ', ''), chroot };
}

export function formatEndpoint(endpoint: Endpoint): string {
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.listener}://${host}:${endpoint.port}`;
}

/** An address that means "all of mine" cannot be connected to by others. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '*' || /^(0+:){7}0+$/.test(host);
}
