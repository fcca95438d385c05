/** Where a bench writes: one new directory, removed at the end whatever happens, with all processes that work in it. */
import { spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';

export class ScratchDirectory {
  private readonly path: string;
  private readonly children = new Set<ChildProcess>();

  constructor(parent: string) {
    this.path = fs.mkdtempSync(join(parent, 'tributary-bench-'));
  }

  /** A directory of that name, empty. */
  make(name: string): string {
    const directory = this.within(name);
    fs.rmSync(directory, { recursive: true, force: true });
    fs.mkdirSync(directory);
    return directory;
  }

  drop(name: string): void {
    fs.rmSync(this.within(name), { recursive: true, force: true });
  }

  /** Runs a command that works in here; gives what it printed. Throws INTERNAL when it fails. */
  async run(command: string, args: readonly string[]): Promise<string> {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.children.add(child);
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    }).finally(() => this.children.delete(child));
    if (exitCode === 0) return output;
    throw new TributaryError('INTERNAL', `${command} failed (${exitCode}): ${complaint}`);
  }

  remove(): void {
    for (const child of this.children) child.kill('SIGKILL');
    fs.rmSync(this.path, { recursive: true, force: true });
  }

  private within(name: string): string {
    return join(this.path, name);
  }
}
