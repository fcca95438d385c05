/**
 * Which of our processes has opened a connection on loopback: by its port, the kernel's table of sockets, and the open
 * files of the process. Linux; no root where the processes are our own. Called by the proxies.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const TABLE = '/proc/net/tcp';
const INODE_COLUMN = 9;

/** undefined: none of them, or not to be told. */
export function socketOwner<T>(port: number, pids: ReadonlyMap<T, number>): T | undefined {
  const socket = `socket:[${inodeOf(port)}]`;
  for (const [owner, pid] of pids) if (hasOpen(pid, socket)) return owner;
  return undefined;
}

function inodeOf(port: number): string | undefined {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const row = readFileSync(TABLE, 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find((columns) => columns[1] === local);
  return row?.[INODE_COLUMN];
}

function hasOpen(pid: number, target: string): boolean {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((name) => linkOf(`${directory}/${name}`) === target);
  } catch {
    return false; // it has ended
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}
