/**
 * Ports for clusters that run side by side (tests in parallel). Taken below the range from which the system
 * hands out ports by itself, so that no outgoing connection sits on a broker's port while the broker is down,
 * and reserved among processes by a file that names its owner.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';

const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;
/** Ports tried before giving up. */
const MAX_ATTEMPTS = 2_000;

const directory = join(tmpdir(), 'tributary-ports');

export class PortReservation {
  private constructor(readonly ports: readonly number[]) {}

  /** Neither in use nor reserved by a living process. Kept until `release`, or the end of this process. */
  static async take(count: number): Promise<PortReservation> {
    mkdirSync(directory, { recursive: true });
    const ports: number[] = [];
    let candidate = Math.floor(Math.random() * PORT_COUNT);
    for (let attempt = 0; ports.length < count; attempt += 1) {
      if (attempt >= MAX_ATTEMPTS) {
        ports.forEach(unreserve);
        throw new TributaryError('ADDRESS_IN_USE', `no ${count} free ports were found on loopback`);
      }
      const port = FIRST_PORT + (candidate % PORT_COUNT);
      candidate += 1;
      if (!reserve(port)) continue;
      if (await canListen(port)) ports.push(port);
      else unreserve(port);
    }
    return new PortReservation(ports);
  }

  release(): void {
    this.ports.forEach(unreserve);
  }
}

/** Nobody listens there now. */
export function canListen(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

function reserve(port: number): boolean {
  const file = join(directory, String(port));
  for (const last of [false, true]) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return true;
    } catch {
      if (last || ownerLives(file)) return false;
      rmSync(file, { force: true }); // left by a process that is gone
    }
  }
  return false;
}

function unreserve(port: number): void {
  rmSync(join(directory, String(port)), { force: true });
}

function ownerLives(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    if (!Number.isSafeInteger(pid) || pid < 1) return true; // being written at this moment
    return isAlive(pid);
  } catch {
    return false;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
