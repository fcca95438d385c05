/**
 * The parts inside node-zookeeper-client 1.1.3 that ClientSession must reach: types only, and the patches that make them
 * safe. The package version is pinned; the tests on a real server fail when these parts change.
 */

/** States of the library's connection manager. */
export const linkStates = {
  disconnected: 0,
  connecting: 1,
  connected: 2,
  closed: -2,
  expired: -3,
  authenticationFailed: -4,
} as const;

export interface LibrarySocket {
  readonly destroyed: boolean;
  /** Always with an error: without one the library leaves its connect timer running, which cuts a later connection. */
  destroy(error: Error): void;
  cork(): void;
  uncork(): void;
}

export interface LibraryPacket {
  readonly callback?: (error: unknown) => void;
}

interface WatchEmitter {
  removeListener(event: 'notification', listener: () => void): void;
  listenerCount(event: 'notification'): number;
}

export interface LibraryConnection {
  state: number;
  socket?: LibrarySocket;
  pendingBuffer: Buffer | null;
  xid: number;
  zxid: Buffer;
  connectTimeoutHandler: NodeJS.Timeout | null;
  readonly packetQueue: { readonly queue: LibraryPacket[] };
  readonly watcherManager: Record<
    'dataWatchers' | 'existenceWatchers' | 'childWatchers',
    Record<string, WatchEmitter>
  >;
  connect: () => void;
  onSocketConnected: () => void;
  onSocketData: () => void;
  onSocketClosed: () => void;
  cleanupPendingQueue(errorCode: number): void;
  prependListener(event: 'state', listener: (state: number) => void): void;
}

export interface LibraryTransaction {
  readonly ops: { version?: number }[];
}

interface ExceptionFactory {
  create: (code: number, path?: string) => Error;
}

/** An error code that the library does not know must not throw inside its parser, where nobody can catch it. */
export function tolerateUnknownErrorCodes(exceptions: ExceptionFactory): void {
  const { create } = exceptions;
  exceptions.create = (code, path) => {
    try {
      return create(code, path);
    } catch {
      // Not in its list: an error of the same shape.
      return Object.assign(new Error(`ZooKeeper error ${code}`), {
        code,
        path,
        getCode: () => code,
      });
    }
  };
}

/** The library takes version 0 for "any". `undefined` is any. */
export function setLastVersion(transaction: LibraryTransaction, version: number | undefined): void {
  const last = transaction.ops.at(-1);
  if (last) last.version = version ?? -1;
}

/**
 * What a broken connection leaves behind: half a frame, which would garble the next connection; request numbers, which
 * overflow after 2^31; packets that were never sent (and one more SetWatches for each failed reconnect).
 */
export function clearRemains(connection: LibraryConnection): LibraryPacket[] {
  connection.pendingBuffer = null;
  connection.xid = 1;
  return connection.packetQueue.queue.splice(0);
}

/** Forgets a one-shot watcher that has not fired: the library never does. */
export function dropWatcher(
  connection: LibraryConnection,
  path: string,
  watcher: () => void,
): void {
  for (const kind of ['dataWatchers', 'existenceWatchers', 'childWatchers'] as const) {
    const emitters = connection.watcherManager[kind];
    const emitter = emitters[path];
    emitter?.removeListener('notification', watcher);
    if (emitter?.listenerCount('notification') === 0) delete emitters[path];
  }
}

/** Ends the library's work for good, in whatever state it is: its own close() crashes in most of them. */
export function abort(connection: LibraryConnection): void {
  const end = (): void => {
    if (connection.connectTimeoutHandler) clearTimeout(connection.connectTimeoutHandler);
  };
  connection.connect = () => undefined;
  connection.onSocketConnected = () => {
    end();
    connection.socket?.destroy(new Error('closed'));
  };
  connection.onSocketData = () => undefined;
  connection.onSocketClosed = end;
  end();
  connection.socket?.destroy(new Error('closed'));
  connection.state = linkStates.closed;
}
