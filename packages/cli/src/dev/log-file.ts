/**
 * The log of one process, followed while it grows: whole lines, each once. Also finds, after the process ended, the
 * line that says why. Called by DevCluster.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const POLL_MS = 100;
/** Read at once; a process that logs faster than this per poll is caught up with later. */
const MAX_READ_BYTES = 256 * 1024;

export class LogFile {
  private position: number;
  private rest = '';
  private timer: NodeJS.Timeout | undefined;
  private last: string | undefined;

  /** Follows from the present end on. */
  constructor(
    readonly path: string,
    private readonly onLine: (line: string) => void,
  ) {
    this.position = existsSync(path) ? statSync(path).size : 0;
    this.timer = setInterval(() => this.poll(), POLL_MS);
    this.timer.unref();
  }

  /** The newest line that is an error, or no log line at all: what a process says before it gives up. */
  get lastComplaint(): string | undefined {
    return this.last;
  }

  poll(): void {
    for (const line of this.newLines()) {
      if (isComplaint(line)) this.last = line;
      this.onLine(line);
    }
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.poll();
  }

  private newLines(): string[] {
    if (!existsSync(this.path)) return [];
    const file = openSync(this.path, 'r');
    try {
      const length = Math.min(fstatSync(file).size - this.position, MAX_READ_BYTES);
      if (length <= 0) return [];
      const bytes = Buffer.alloc(length);
      const read = readSync(file, bytes, 0, length, this.position);
      this.position += read;
      const lines = (this.rest + bytes.toString('utf8', 0, read)).split('\n');
      this.rest = lines.pop() ?? '';
      return lines.filter((line) => line !== '');
    } finally {
      closeSync(file);
    }
  }
}

export interface LogEntry {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** undefined: not a line of the structured log. */
export function parseLogLine(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level, message, time: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (typeof level !== 'string' || typeof message !== 'string') return undefined;
    return { level, message, fields };
  } catch {
    return undefined;
  }
}

function isComplaint(line: string): boolean {
  const entry = parseLogLine(line);
  return entry ? entry.level === 'error' : / code=[A-Z_]+$/.test(line);
}
