/**
 * The library's connect timer ends with the TCP connection: a server that accepts and says nothing would hold the
 * client for ever. This tells when to give such a connection up. Driven by ClientSession's ticks.
 */
import { linkStates, type LibraryConnection, type LibrarySocket } from './library-internals';

const MIN_PATIENCE_MS = 250;

export class MuteServerWatch {
  private watched: { readonly socket: LibrarySocket; readonly since: number } | undefined;

  isMute(connection: LibraryConnection, now: number, sessionTimeoutMs: number): boolean {
    const { state, socket } = connection;
    if (state !== linkStates.connecting || !socket || socket.destroyed) return false;
    if (this.watched?.socket !== socket) this.watched = { socket, since: now };
    return now - this.watched.since > Math.max(MIN_PATIENCE_MS, sessionTimeoutMs / 4);
  }
}
