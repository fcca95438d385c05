/**
 * Which process is it, and does it live? A pid alone does not say: pids are used again, after a restart of
 * the machine or of a container soon. So a process is its pid together with its start: on Linux boot id and
 * start ticks from /proc, elsewhere what `ps` prints. Called by the directory lock.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, start: startOf(process.pid) ?? 'unknown' };
}

export function isAlive(owner: ProcessIdentity): boolean {
  const start = startOf(owner.pid);
  return start !== undefined && start === owner.start;
}

/** undefined: no such process, or one that is dead and not yet reaped. */
function startOf(pid: number): string | undefined {
  return fs.existsSync('/proc/self/stat') ? startOnLinux(pid) : startFromPs(pid);
}

function startOnLinux(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; state is the first field after it, start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${fields[19]}`;
  } catch {
    return undefined; // the process is gone
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    }).trim();
    const [, state = '', start] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    return state.startsWith('Z') ? undefined : start;
  } catch {
    return undefined; // ps exits with 1 when there is no such process
  }
}
