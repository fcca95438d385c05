/** Runs the built broker as an operator would: a process with flags, environment, exit code and two outputs. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const main = join(__dirname, '../../../packages/server/dist/main.js');
const PATIENCE_MS = 25_000;

export interface BrokerFlags {
  readonly id: number;
  readonly dataDir: string;
  readonly zookeeper: string;
  readonly port: number;
  readonly httpPort: number;
}

export function brokerFlags({ id, dataDir, zookeeper, port, httpPort }: BrokerFlags): string[] {
  return [
    ...['--broker-id', String(id), '--data-dir', dataDir, '--zookeeper', zookeeper],
    ...['--listeners', `outside://127.0.0.1:${port}`, '--http-port', String(httpPort)],
    ...['--die-with-parent', String(process.pid)],
  ];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class BrokerProgram {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  private stdout = '';
  private stderr = '';

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => (this.stdout += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.stderr += String(chunk)));
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }),
      );
    });
  }

  /** Resolves once it has logged that message; rejects with its words when it ends before. */
  async logged(message: string): Promise<Record<string, unknown>> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const line = this.stdout.split('\n').find((text) => text.includes(`"message":"${message}"`));
      if (line) return JSON.parse(line) as Record<string, unknown>;
      if (this.child.exitCode !== null || performance.now() > until) {
        throw new Error(`the broker did not log "${message}": ${this.stderr}${this.stdout}`);
      }
      await pause(20);
    }
  }

  async kill(signal: NodeJS.Signals): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }
}

/** For starts that must fail. */
export async function refused(
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): Promise<Pick<Ended, 'code'> & { lines: string[] }> {
  const { code, stderr } = await new BrokerProgram(args, environment).ended;
  return { code, lines: stderr.split('\n').filter((line) => line !== '') };
}
