/**
 * The embedded cluster as one child process, and its brokers as things that can be killed and started: a kill is a
 * simulated stop, told over the channel between the processes. Called by DevCluster.
 */
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';
import { isReady, type BrokerState, type ClusterBroker } from './broker-process';
import { ProgramProcess, type ChildExit } from './child-process';
import { LogFile } from './log-file';

export interface EmbeddedOptions {
  readonly directory: string;
  /** One per broker. */
  readonly ports: readonly { readonly port: number; readonly httpPort: number }[];
  readonly onLine: (line: string) => void;
  readonly onDeath: (exit: ChildExit, complaint: string | undefined) => void;
}

interface Reply {
  readonly request: number;
  readonly error?: string;
}

const REPLY_TIMEOUT_MS = 30_000;

export class EmbeddedProcess {
  readonly brokers: readonly EmbeddedBroker[];
  readonly logFile: string;
  failure: TributaryError | undefined;
  private process: ProgramProcess | undefined;
  private log: LogFile | undefined;
  private stopping = false;
  private requests = 0;

  constructor(private readonly options: EmbeddedOptions) {
    this.logFile = join(options.directory, 'embedded.log');
    this.brokers = options.ports.map(
      ({ port, httpPort }, index) => new EmbeddedBroker(index + 1, port, httpPort, this),
    );
  }

  get pid(): number | undefined {
    return this.process?.alive ? this.process.pid : undefined;
  }

  /** Does nothing while it runs. */
  start(): void {
    if (this.process) return;
    const { ports } = this.options;
    this.log = new LogFile(this.logFile, this.options.onLine);
    const started = ProgramProcess.start({
      script: require.resolve('@tributary/server/dist/embedded.js'),
      args: [
        ...['--ports', ports.map(({ port }) => port).join(',')],
        ...['--http-ports', ports.map(({ httpPort }) => httpPort).join(',')],
      ],
      logFile: this.logFile,
      ipc: true,
    });
    this.process = started;
    started.child.setMaxListeners(100);
    void started.exited.then((exit) => this.onExit(exit));
  }

  /** Resolves when the process has done it. */
  request(action: 'kill' | 'start', brokerId: number): Promise<void> {
    const child = this.process?.child;
    if (!child?.connected) return Promise.reject(this.gone());
    const request = (this.requests += 1);
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('exit', onExit);
        if (error) reject(error);
        else resolve();
      };
      const onMessage = (message: unknown): void => {
        const reply = message as Reply;
        if (reply.request !== request) return;
        settle(reply.error ? new TributaryError('INTERNAL', reply.error) : undefined);
      };
      const onExit = (): void => settle(this.gone());
      const timer = setTimeout(() => settle(this.gone()), REPLY_TIMEOUT_MS);
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.send({ request, action, brokerId });
    });
  }

  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    await this.process?.stop(graceMs);
  }

  private onExit(exit: ChildExit): void {
    this.log?.close();
    if (this.stopping) return;
    const complaint = this.log?.lastComplaint;
    this.failure = new TributaryError('UNAVAILABLE', complaint ?? this.gone().message, {
      hint: `Its log: ${this.logFile}`,
    });
    this.options.onDeath(exit, complaint);
  }

  private gone(): TributaryError {
    return new TributaryError('UNAVAILABLE', 'the process of the embedded cluster has ended');
  }
}

export class EmbeddedBroker implements ClusterBroker {
  readonly host = '127.0.0.1';
  private killed = false;

  constructor(
    readonly id: number,
    readonly port: number,
    readonly httpPort: number,
    private readonly owner: EmbeddedProcess,
  ) {}

  get pid(): number | undefined {
    return this.killed ? undefined : this.owner.pid;
  }

  get logFile(): string {
    return this.owner.logFile;
  }

  get failure(): TributaryError | undefined {
    return this.owner.failure;
  }

  async state(): Promise<BrokerState> {
    if (this.pid === undefined) return 'down';
    return (await isReady(this.host, this.httpPort)) ? 'ready' : 'starting';
  }

  async start(): Promise<void> {
    if (!this.killed) return this.owner.start();
    await this.owner.request('start', this.id);
    this.killed = false;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal !== 'SIGKILL') {
      throw new TributaryError(
        'INVALID_ARGUMENT',
        `an embedded broker cannot be sent ${signal}: it has no process of its own`,
        { hint: 'Use SIGKILL, a simulated stop, or a cluster of processes: trib dev up.' },
      );
    }
    if (this.killed) return;
    await this.owner.request('kill', this.id);
    this.killed = true;
  }

  stop(graceMs: number): Promise<void> {
    return this.owner.stop(graceMs);
  }
}
