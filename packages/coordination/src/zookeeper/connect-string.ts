/**
 * `host:port,host:port/chroot`: read and checked here, because the client library reads some of it wrongly (an IPv6
 * address in brackets) and accepts the rest in silence.
 */
import { TributaryError } from '@tributary/common';
import { validatePath } from '../session/node-path';

export interface ConnectString {
  /** For the client library: without chroot. */
  readonly servers: string;
  readonly serverCount: number;
  /** `/` where none is given. */
  readonly chroot: string;
}

export const defaultZooKeeperPort = 2181;

/** Throws INVALID_CONFIG. */
export function parseConnectString(text: string): ConnectString {
  const slash = text.indexOf('/');
  const hosts = (slash < 0 ? text : text.slice(0, slash)).split(',').map((host) => host.trim());
  const chroot = slash < 0 ? '/' : text.slice(slash).replace(/\/+$/, '') || '/';
  const servers = hosts.map((host) => checkServer(host, text));
  try {
    validatePath(chroot);
  } catch (cause) {
    throw refuse(text, `${chroot} is not a path`, cause);
  }
  return { servers: servers.join(','), serverCount: servers.length, chroot };
}

function checkServer(server: string, text: string): string {
  if (server === '') throw refuse(text, 'a host is empty');
  if (server.includes('[') || server.split(':').length > 2) {
    throw refuse(text, `${server} is an IPv6 address: give a host name instead`);
  }
  const [host, port = String(defaultZooKeeperPort)] = server.split(':');
  const valid = /^[0-9]{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
  if (!host || !valid) throw refuse(text, `${server} is not host:port`);
  return `${host}:${port}`;
}

function refuse(text: string, why: string, cause?: unknown): TributaryError {
  return new TributaryError(
    'INVALID_CONFIG',
    `the ZooKeeper connect string ${JSON.stringify(text)} is wrong: ${why}`,
    { hint: 'Write host:port,host:port and, if wanted, /path behind the last one.', cause },
  );
}
