/**
 * One broker of a development cluster: its process over several lives, its ports, its log. Called by DevCluster.
 */
import { join } from 'node:path';
import { TributaryError, isErrorCode } from '@tributary/common';
import { ProgramProcess, type ChildExit } from './child-process';
import type { BrokerPlace } from './cluster-options';
import { LogFile } from './log-file';

export type BrokerState = 'ready' | 'starting' | 'paused' | 'down';

/** What can be done with a broker of either kind of cluster. */
export interface ClusterBroker {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly httpPort: number;
  /** undefined: not running. */
  readonly pid: number | undefined;
  readonly logFile: string;
  state(): Promise<BrokerState>;
  start(): Promise<void>;
  /** SIGKILL and SIGTERM resolve when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  stop(graceMs: number): Promise<void>;
  /** Rejects when it has ended by itself, with what it said. Otherwise undefined. */
  readonly failure: TributaryError | undefined;
}

export interface BrokerProcessOptions {
  readonly id: number;
  readonly port: number;
  readonly httpPort: number;
  readonly place: BrokerPlace;
  readonly zookeeper: string;
  /** Holds the data directory and the log file. */
  readonly directory: string;
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly onLine: (line: string) => void;
  /** It ended without having been told to. */
  readonly onDeath: (exit: ChildExit, complaint: string | undefined) => void;
}

const HTTP_TIMEOUT_MS = 1000;

export class BrokerProcess implements ClusterBroker {
  private process: ProgramProcess | undefined;
  private log: LogFile | undefined;
  private paused = false;
  private expectedEnd = false;
  private ended: TributaryError | undefined;

  constructor(private readonly options: BrokerProcessOptions) {}

  get id(): number {
    return this.options.id;
  }

  get host(): string {
    return this.options.place.host ?? '127.0.0.1';
  }

  get port(): number {
    return this.options.port;
  }

  get httpPort(): number {
    return this.options.httpPort;
  }

  get pid(): number | undefined {
    return this.process?.alive ? this.process.pid : undefined;
  }

  get dataDir(): string {
    return join(this.options.directory, `broker-${this.id}`);
  }

  get logFile(): string {
    return join(this.options.directory, `broker-${this.id}.log`);
  }

  get failure(): TributaryError | undefined {
    return this.ended;
  }

  /** Starts the process; does nothing while one runs. Readiness is another matter: `state`. */
  async start(): Promise<void> {
    if (this.process?.alive) return;
    this.paused = false;
    this.expectedEnd = false;
    this.ended = undefined;
    this.log = new LogFile(this.logFile, this.options.onLine);
    const { within, script, environment } = this.options.place;
    const started = ProgramProcess.start({
      script: script ?? require.resolve('@tributary/server/dist/main.js'),
      ...(within ? { within } : {}),
      args: this.args(),
      logFile: this.logFile,
      environment: { ...this.options.environment, ...environment },
    });
    this.process = started;
    void started.exited.then((exit) => this.onExit(exit));
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const running = this.process;
    if (!running?.alive) return;
    const ends = signal === 'SIGKILL' || signal === 'SIGTERM';
    if (ends) this.expectedEnd = true;
    if (signal === 'SIGSTOP') this.paused = true;
    if (signal === 'SIGCONT') this.paused = false;
    running.signal(signal);
    if (ends) await running.exited;
  }

  async stop(graceMs: number): Promise<void> {
    this.expectedEnd = true;
    this.paused = false;
    await this.process?.stop(graceMs);
  }

  async state(): Promise<BrokerState> {
    if (!this.process?.alive) return 'down';
    if (this.paused) return 'paused';
    return (await isReady(this.host, this.httpPort)) ? 'ready' : 'starting';
  }

  private args(): string[] {
    const { id, port, httpPort, zookeeper, flags } = this.options;
    return [
      ...['--broker-id', String(id), '--data-dir', this.dataDir, '--zookeeper', zookeeper],
      ...['--listeners', `outside://${this.host}:${port}`, '--http-port', String(httpPort)],
      ...(this.options.place.host ? ['--http-host', this.host] : []),
      ...['--log-format', 'json', ...flags],
    ];
  }

  private onExit(exit: ChildExit): void {
    this.log?.close();
    if (this.expectedEnd) return;
    const complaint = this.log?.lastComplaint;
    this.ended = failureOf(this.id, exit, complaint, this.logFile);
    this.options.onDeath(exit, complaint);
  }
}

export async function isReady(host: string, httpPort: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(HTTP_TIMEOUT_MS);
    const response = await fetch(`http://${host}:${httpPort}/readyz`, { signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // nobody answers there (yet): not ready
  }
}

/** The broker's own words and code, where it had some. */
function failureOf(
  id: number,
  exit: ChildExit,
  complaint: string | undefined,
  logFile: string,
): TributaryError {
  const match = complaint ? /^(.*) code=([A-Z_]+)$/.exec(complaint) : null;
  if (match && isErrorCode(match[2]!)) {
    return new TributaryError(match[2], match[1]!, { hint: `Its log: ${logFile}` });
  }
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with code ${exit.code}`;
  return new TributaryError('UNAVAILABLE', `broker ${id} ${how}`, { hint: `Its log: ${logFile}` });
}
