/**
 * Standard output, where data go. A reader that has enough and closes the pipe (`| head`) ends a command, and that is no
 * failure; data that cannot be written for another reason (a full disk) are one, with a code. Called by the frame of the
 * commands and by `consume`.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { TributaryError } from '@tributary/common';

export class DataOutput {
  private failure: Error | undefined;

  /** From now on the stream's errors are this object's to tell: they do not end the process. */
  constructor(private readonly stream: Writable) {
    stream.on('error', (error: Error) => {
      this.failure ??= error;
    });
  }

  /** Waits while the reader is slow. Throws OutputClosed, STORAGE_ERROR. */
  async write(data: Uint8Array): Promise<void> {
    this.throwFailure();
    if (this.stream.write(data)) return;
    await once(this.stream, 'drain').catch(() => undefined); // an error is remembered
    this.throwFailure();
  }

  /** Resolves when all that was written has been taken. Throws as `write` does. */
  async flushed(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.stream.write('', () => resolve());
    });
    this.throwFailure();
  }

  private throwFailure(): void {
    if (!this.failure) return;
    if ((this.failure as NodeJS.ErrnoException).code === 'EPIPE') throw new OutputClosed();
    throw new TributaryError(
      'STORAGE_ERROR',
      `cannot write to standard output: ${this.failure.message}`,
      { cause: this.failure, hint: 'Look at where the output goes: it may be full.' },
    );
  }
}

/** Nobody reads on: the command ends as if it had been asked to. */
export class OutputClosed extends Error {
  constructor() {
    super('standard output was closed by its reader');
  }
}

let standardOutput: DataOutput | undefined;

/** That of this process. */
export function dataOutput(): DataOutput {
  standardOutput ??= new DataOutput(process.stdout);
  return standardOutput;
}
