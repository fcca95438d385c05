/**
 * Splits a stream of bytes at LF only; every other byte is kept, CR included. A last piece without LF is a
 * line; nothing after a final LF is not. Called by `trib produce`.
 */
import { TributaryError } from '@tributary/common';

export class LineSplitter {
  private rest: Buffer[] = [];
  private restBytes = 0;

  constructor(private readonly maxLineBytes: number) {}

  /** Lines that end in this chunk. Throws RECORD_TOO_LARGE when one grows beyond `maxLineBytes`. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, start)) {
      lines.push(this.take(chunk.subarray(start, at)));
      start = at + 1;
    }
    if (start < chunk.length) {
      this.rest.push(chunk.subarray(start));
      this.restBytes += chunk.length - start;
      if (this.restBytes > this.maxLineBytes) throw this.tooLong();
    }
    return lines;
  }

  /** The last line, where the input does not end in LF. */
  finish(): Buffer | undefined {
    return this.restBytes === 0 ? undefined : this.take(Buffer.alloc(0));
  }

  private tooLong(): TributaryError {
    return new TributaryError(
      'RECORD_TOO_LARGE',
      `a line is longer than ${this.maxLineBytes} bytes`,
    );
  }

  private take(end: Buffer): Buffer {
    const line = this.restBytes === 0 ? end : Buffer.concat([...this.rest, end]);
    this.rest = [];
    this.restBytes = 0;
    return line;
  }
}
