/**
 * A Node program as a child that writes into a log file, has a process group of its own (Ctrl-C reaches only the
 * supervisor, which stops things in order) and does not outlive its parent: the program polls for its parent, and
 * on Linux the kernel kills it, too, even while it is stopped.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';

export interface ProgramOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ipc?: boolean;
  /** A command that becomes the one behind it. */
  readonly within?: readonly string[];
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const setpriv = '/usr/bin/setpriv';

export class ProgramProcess {
  private running = true;
  readonly exited: Promise<ChildExit>;

  private constructor(readonly child: ChildProcess) {
    this.exited = new Promise((resolve) => {
      const end = (exit: ChildExit): void => {
        this.running = false;
        resolve(exit);
      };
      child.once('exit', (code, signal) => end({ code, signal }));
      child.once('error', () => end({ code: -1, signal: null }));
    });
  }

  static start(options: ProgramOptions): ProgramProcess {
    const node = [
      ...(options.within ?? []),
      process.execPath,
      options.script,
      ...options.args,
      '--die-with-parent',
      String(process.pid),
    ];
    const bound = process.platform === 'linux' && existsSync(setpriv);
    const [command, ...args] = bound ? [setpriv, '--pdeathsig', 'KILL', '--', ...node] : node;
    const log = openSync(options.logFile, 'a');
    try {
      return new ProgramProcess(
        spawn(command!, args, {
          stdio: ['ignore', log, log, ...(options.ipc ? (['ipc'] as const) : [])],
          env: { ...environmentOfPrograms(), ...options.environment },
          detached: true,
        }),
      );
    } finally {
      closeSync(log);
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get alive(): boolean {
    return this.running;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.child.kill(signal);
  }

  /** Orderly, and by force after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    const force = setTimeout(() => this.signal('SIGKILL'), graceMs);
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    await this.exited;
    clearTimeout(force);
  }
}

/** Ours, without what would configure a broker: settings of a cluster come from its options alone. */
function environmentOfPrograms(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith('TRIBUTARY_') && entry[0] !== 'NODE_OPTIONS',
  );
  return Object.fromEntries(entries);
}
