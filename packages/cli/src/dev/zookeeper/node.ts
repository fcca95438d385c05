/**
 * One ZooKeeper server as a child process: started, paused, killed and waited for by its ensemble, the tests and
 * `trib dev kill`.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ZooKeeperInstallation } from './installation';
import { launchDocker, launchJava, signalContainer } from './launcher';
import { fourLetterWord, servingMode } from './ports';

export interface NodeOptions {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly directory: string;
  readonly installation: ZooKeeperInstallation;
  readonly configuration: string;
  readonly dieWithParent: boolean;
  readonly maxHeapMb: number;
  readonly containerName: string;
  readonly network: string;
}

const READY_POLL_MS = 15;
const FOUR_LETTER_TIMEOUT_MS = 1_000;

export class ZooKeeperNode {
  private child: ChildProcess | undefined;
  private exited: Promise<void> = Promise.resolve();
  private spawnError: Error | undefined;

  constructor(private readonly options: NodeOptions) {}

  get id(): number {
    return this.options.id;
  }

  get port(): number {
    return this.options.port;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get running(): boolean {
    return this.child !== undefined;
  }

  get logFile(): string {
    return join(this.options.directory, 'server.log');
  }

  /** Starts the process; does nothing while it runs. The data of an earlier run are kept. */
  start(): void {
    if (this.child) return;
    const { directory, id, configuration, installation } = this.options;
    mkdirSync(join(directory, 'data'), { recursive: true });
    writeFileSync(join(directory, 'data', 'myid'), `${id}\n`);
    writeFileSync(join(directory, 'zoo.cfg'), configuration);
    const child =
      installation.kind === 'java'
        ? launchJava(installation, this.options)
        : launchDocker(
            installation,
            { ...this.options, name: this.options.containerName },
            this.options,
          );
    this.child = child;
    this.spawnError = undefined;
    this.exited = new Promise((resolve) => {
      const ended = (): void => {
        if (this.child === child) this.child = undefined;
        resolve();
      };
      child.once('exit', ended);
      child.once('error', (error) => {
        this.spawnError = error;
        ended();
      });
    });
  }

  /** Resolves with the mode (standalone, leader, follower) once it serves requests. */
  async waitReady(timeoutMs = 30_000): Promise<string> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const mode = await servingMode(this.options);
      if (mode !== undefined && this.child) return mode;
      if (!this.child) {
        const why = this.spawnError ? ` (${this.spawnError.message})` : '';
        throw new Error(`ZooKeeper node ${this.id} ended early${why}: see ${this.logFile}`);
      }
      if (performance.now() > until) {
        throw new Error(
          `ZooKeeper node ${this.id} was not ready within ${timeoutMs} ms: see ${this.logFile}`,
        );
      }
      await pause(READY_POLL_MS);
    }
  }

  /** undefined: does not serve now. */
  mode(): Promise<string | undefined> {
    return servingMode(this.options);
  }

  /** `cons`, `mntr` and the like; empty when there is no answer. */
  fourLetterWord(word: string): Promise<string> {
    return fourLetterWord(this.options, word, FOUR_LETTER_TIMEOUT_MS);
  }

  /** Sends a signal; with SIGKILL or SIGTERM waits for the end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.child;
    if (!child) return;
    const { installation, containerName } = this.options;
    if (installation.kind === 'docker') {
      await signalContainer(installation, containerName, signal);
    } else {
      child.kill(signal);
    }
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await this.exited;
  }

  pause(): Promise<void> {
    return this.kill('SIGSTOP');
  }

  resume(): Promise<void> {
    return this.kill('SIGCONT');
  }

  /** In order, and by force after `graceMs`. */
  async stop(graceMs = 2_000): Promise<void> {
    if (!this.child) return;
    const force = setTimeout(() => void this.kill('SIGKILL'), graceMs);
    await this.resume();
    await this.kill('SIGTERM');
    clearTimeout(force);
  }

  /** For the exit handler of the parent: no time left to wait. */
  killNow(): void {
    if (this.options.installation.kind === 'java') this.child?.kill('SIGKILL');
  }
}
