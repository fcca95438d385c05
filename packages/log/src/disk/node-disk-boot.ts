/**
 * Which start of the machine is this? Linux and macOS have a random id for it; elsewhere nothing that a jump of
 * the clock could not change is known, and a crash then counts as one of the machine. Called by NodeDisk.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';

const LINUX = '/proc/sys/kernel/random/boot_id';
const COMMAND_TIMEOUT_MS = 2000;

export function bootId(): string | undefined {
  return fs.existsSync(LINUX) ? fromLinux() : fromSysctl();
}

function fromLinux(): string | undefined {
  try {
    return fs.readFileSync(LINUX, 'utf8').trim() || undefined;
  } catch {
    return undefined; // not readable in this sandbox
  }
}

function fromSysctl(): string | undefined {
  try {
    const id = execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], {
      encoding: 'utf8',
      timeout: COMMAND_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return id.trim() || undefined;
  } catch {
    return undefined; // there is no such command, or no such id
  }
}
