/**
 * Session id and password of the ZooKeeper session, in a file of the data directory that only its owner may
 * read: after a crash the next process ends the old session with it and need not wait for its expiry.
 * Invariant: written and read only under the lock of the data directory.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionTicket } from '@tributary/coordination';

const FILE_NAME = 'zookeeper-session.json';

export class SessionTicketFile {
  private readonly path: string;

  constructor(dataDir: string) {
    this.path = join(dataDir, FILE_NAME);
  }

  /** undefined: none, or not readable as one; then the session's expiry is waited for. */
  read(): SessionTicket | undefined {
    try {
      const ticket = JSON.parse(readFileSync(this.path, 'utf8')) as Partial<SessionTicket>;
      const { sessionId, password } = ticket;
      if (typeof sessionId !== 'string' || typeof password !== 'string') return undefined;
      return { sessionId, password };
    } catch {
      return undefined; // a hint only: without it the start takes one session timeout longer
    }
  }

  write(ticket: SessionTicket): void {
    const temporary = `${this.path}.tmp`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, JSON.stringify(ticket), { mode: 0o600, flag: 'wx' });
    renameSync(temporary, this.path);
  }

  /** After the session was closed orderly. */
  remove(): void {
    rmSync(this.path, { force: true });
  }
}
