/**
 * The embedded ensemble as its clients' sessions see it: the "wire" between EmbeddedSession and EmbeddedEnsemble.
 */
import type { Clock } from '@tributary/common';
import type { SessionTicket } from '../coordinator';
import type { ChangeSignal, WatchKind } from '../session/session';
import type { TreeOperation, TreeResult, TreeView } from './embedded-tree';

/** The server's hold on a client: to cut it off. */
export interface ClientLink {
  goDown(): void;
  comeUp(): void;
  /** Down, and up again after a while. */
  bounce(reconnectMs: number): void;
}

export interface EmbeddedServer {
  readonly clock: Clock;
  readonly isHalted: boolean;
  /** A new session, or the one of the ticket; undefined: that one is over. */
  attach(
    link: ClientLink,
    ticket: SessionTicket | undefined,
    timeoutMs: number,
  ): SessionTicket | undefined;
  /** The client is away: its session runs out after its timeout. */
  detach(link: ClientLink, sessionId: string): void;
  closeSession(sessionId: string): void;
  hasSession(sessionId: string): boolean;
  /** How long a request of it takes on its way here. */
  lateRequestMs(sessionId: string): number;
  /** This client will not come back. */
  forget(link: ClientLink): void;
  read(
    sessionId: string,
    path: string,
    watch?: { readonly kind: WatchKind; readonly signal: ChangeSignal },
  ): TreeView | undefined;
  disarm(path: string, signal: ChangeSignal): void;
  /** Throws the refusal of the culprit. `reply` false: the reply is lost, and the connection with it. */
  write(
    sessionId: string,
    operations: readonly TreeOperation[],
  ): { readonly results: TreeResult[]; readonly reply: boolean };
  /** From now on this session sees all that was acknowledged to anybody. */
  catchUp(sessionId: string): void;
}
