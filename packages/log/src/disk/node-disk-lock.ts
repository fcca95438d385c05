/**
 * The lock of a directory: a file `.lock` that names its owner. Invariant: it appears whole (written aside,
 * then linked into place, which only one of several can) and is taken over only from a process that is
 * proven dead. Two opens within one process exclude each other too, since the owner is alive.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { TributaryError } from '@tributary/common';
import type { DirectoryLock } from '../disk';
import { onDisk } from './node-disk-error';
import { isAlive, ownIdentity, type ProcessIdentity } from './node-disk-owner';

const LOCK_FILE = '.lock';
/** How often a lock that somebody else takes or leaves under our eyes is looked at again. */
const ATTEMPTS = 5;

export function lockDirectory(directory: string): DirectoryLock {
  const path = `${directory}/${LOCK_FILE}`;
  const token = randomBytes(8).toString('hex');
  const text = JSON.stringify({ ...ownIdentity(), token });
  const aside = `${path}.${token}`;
  return onDisk('lock', path, () => {
    fs.writeFileSync(aside, text, { flag: 'wx' });
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (link(aside, path)) return { unlock: () => unlock(path, text) };
        removeIfDead(path, aside);
      }
    } finally {
      fs.rmSync(aside, { force: true });
    }
    throw locked(path, undefined);
  });
}

/** False: there is one already. */
function link(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeIfDead(path: string, aside: string): void {
  const seen = readText(path);
  if (seen === undefined) return; // unlocked a moment ago
  const owner = parseOwner(seen);
  if (owner && isAlive(owner)) throw locked(path, owner);
  // Moved away before it is removed, so that we can see whether it still is the dead one's.
  const grave = `${aside}.stale`;
  try {
    fs.renameSync(path, grave);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const wasAnothers = readText(grave) !== seen;
  if (wasAnothers) link(grave, path);
  fs.rmSync(grave, { force: true });
}

function unlock(path: string, text: string): void {
  onDisk('unlock', path, () => {
    if (readText(path) === text) fs.rmSync(path, { force: true });
  });
}

function readText(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** undefined: not a lock of ours, for instance empty after a power failure; nobody alive stands behind it. */
function parseOwner(text: string): ProcessIdentity | undefined {
  try {
    const { pid, start } = JSON.parse(text) as Partial<ProcessIdentity>;
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined;
  } catch {
    return undefined; // not JSON
  }
}

function locked(path: string, owner: ProcessIdentity | undefined): TributaryError {
  const who = owner ? `process ${owner.pid}` : 'another process';
  return new TributaryError('DATA_DIR_LOCKED', `the data directory is in use by ${who}: ${path}`, {
    details: { path, ...(owner ? { pid: owner.pid } : {}) },
  });
}
