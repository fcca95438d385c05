/**
 * What is asked in one turn of the event loop leaves in one write. The library writes each request to its socket by itself,
 * and a controller that takes office, like a client whose leaders died, reads hundreds of nodes: as many system calls, which
 * a busy machine uses to give the processor away. Invariant: a socket that is held back is let go in the same turn.
 * Used by ClientSession before each request.
 */
import type { LibrarySocket } from './library-internals';

export class GatheredWrites {
  private held: LibrarySocket | undefined;

  gather(socket: LibrarySocket | undefined): void {
    if (!socket || socket === this.held) return;
    this.held = socket;
    socket.cork();
    // Runs when all promises of this turn have gone on.
    process.nextTick(() => {
      socket.uncork();
      if (this.held === socket) this.held = undefined;
    });
  }
}
