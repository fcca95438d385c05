/** Runs the built `trib` as a person would: a process with its own standard input and output. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';

const bin = join(__dirname, '../../../packages/cli/bin/trib.js');

export interface Finished {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export class TribProcess {
  readonly finished: Promise<Finished>;
  private readonly chunks: Buffer[] = [];
  private errors = '';

  constructor(
    readonly child: ChildProcessWithoutNullStreams,
    input: Buffer | undefined,
  ) {
    child.stdout.on('data', (chunk: Buffer) => this.chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    child.stdin.on('error', () => undefined); // a process that fails early does not read its input
    child.stdin.end(input);
    this.finished = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, stdout: this.output, stderr: this.errors }));
    });
  }

  get output(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

export function startTrib(args: readonly string[], input?: Buffer): TribProcess {
  return new TribProcess(spawn(process.execPath, [bin, ...args]), input);
}

export function trib(args: readonly string[], input?: Buffer): Promise<Finished> {
  return startTrib(args, input).finished;
}
