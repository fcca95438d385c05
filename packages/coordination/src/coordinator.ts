/**
 * The Coordinator port: one client's view of a small tree of versioned nodes with ephemerals, watches and
 * atomic multis, in ZooKeeper's semantics. Two implementations keep the very same contract (contract test
 * suite): ZooKeeperCoordinator and the embedded in-memory one. The nouns of this package (registry, election,
 * topics, partition states, groups) are written on it alone.
 *
 * Invariants:
 * - versions start at 0 and are really checked, 0 included;
 * - a write whose reply was lost is resolved by reading back where that is possible; where it is not, the
 *   error has outcome 'maybe written': COORDINATOR_UNAVAILABLE, or the refusal (BAD_VERSION, NODE_EXISTS ...) of a
 *   later attempt. Reading back compares bytes, so a compare-and-set writes bytes that name its writer;
 * - only the server ends a session: `expired` is emitted after the server has said so, never after a mere
 *   silence. Then a new session is opened without end until `close`;
 * - watches are hints: the callback gets a freshly read value, may miss steps in between, never the last one.
 */
export interface Coordinator {
  readonly status: CoordinatorStatus;
  /** Of the current session, as hex; undefined before the first one. */
  readonly sessionId: string | undefined;
  /** As negotiated with the server. */
  readonly sessionTimeoutMs: number;
  /** Milliseconds since a quorum last answered this client (clock.now() based); 0 if it just did. */
  readonly silentForMs: number;

  /** undefined: no such node. */
  get(path: string): Promise<CoordinatorNode | undefined>;
  /** Sorted names; undefined: no such node. */
  children(path: string): Promise<string[] | undefined>;
  /** Throws NODE_EXISTS, NO_NODE (parent). */
  create(path: string, data: Buffer, options?: CreateOptions): Promise<CreatedNode>;
  /** Persistent nodes down to this path; existing ones are fine. */
  ensurePath(path: string): Promise<void>;
  /** version undefined: any. Throws BAD_VERSION, NO_NODE. */
  set(path: string, data: Buffer, version: number | undefined): Promise<NodeStat>;
  /** Throws BAD_VERSION, NO_NODE, NOT_EMPTY. */
  remove(path: string, version?: number): Promise<void>;
  /**
   * All or nothing. On refusal throws the culprit's error with `details.index`. After a lost reply the error is
   * COORDINATOR_UNAVAILABLE, outcome 'maybe written': the caller reads back. Bounded by `maxMultiOperations`.
   */
  multi(operations: readonly MultiOperation[]): Promise<MultiResult[]>;
  /** After it resolves, reads see every write acknowledged to anybody before the call. */
  barrier(): Promise<void>;

  /**
   * Calls back with the value now and after each change that is seen, until `stop`; over reconnects and
   * sessions. undefined: the node does not exist.
   */
  watchData(path: string, onChange: (node: CoordinatorNode | undefined) => void): Watch;
  watchChildren(path: string, onChange: (names: string[] | undefined) => void): Watch;

  /** Resolves when connected; rejects with COORDINATOR_UNAVAILABLE after `timeoutMs`, naming the addresses. */
  ready(timeoutMs: number): Promise<void>;
  onSession(listener: SessionListener): Watch;
  /** What the next process needs to resume or end this session: keep it in a 0600 file. */
  readonly sessionTicket: SessionTicket | undefined;
  /**
   * Ends a session of an earlier process by its ticket, so that its ephemerals go at once. True: ended now;
   * false: it was over already.
   */
  endSession(ticket: SessionTicket): Promise<boolean>;
  /** Ends the session (ephemerals go) within `timeoutMs` where the server can be reached. Idempotent. */
  close(timeoutMs?: number): Promise<void>;
}

export type CoordinatorStatus = 'connecting' | 'connected' | 'suspended' | 'closed';

export interface SessionTicket {
  readonly sessionId: string;
  /** Hex. Secret: whoever has it can end the session. */
  readonly password: string;
}

export interface NodeStat {
  readonly version: number;
  readonly childrenVersion: number;
  /** Transaction id of the creation. For a broker's registration this is the broker epoch. */
  readonly czxid: number;
  readonly mzxid: number;
  /** Hex session id; undefined for a persistent node. */
  readonly ephemeralOwner: string | undefined;
}

export interface CoordinatorNode {
  readonly data: Buffer;
  readonly stat: NodeStat;
}

export interface CreateOptions {
  readonly ephemeral?: boolean;
  /**
   * The server appends a ten-digit counter, and 32 hex digits stand in front of the name, so that a lost reply never
   * leaves a second node behind: `/dir/n-` becomes `/dir/<32 hex>-n-0000000003`.
   */
  readonly sequential?: boolean;
}

export interface CreatedNode {
  /** With the counter, where sequential. */
  readonly path: string;
  readonly stat: NodeStat;
}

export type MultiOperation =
  | { readonly type: 'check'; readonly path: string; readonly version: number }
  | {
      readonly type: 'create';
      readonly path: string;
      readonly data: Buffer;
      readonly ephemeral?: boolean;
    }
  | {
      readonly type: 'set';
      readonly path: string;
      readonly data: Buffer;
      readonly version: number | undefined;
    }
  | { readonly type: 'remove'; readonly path: string; readonly version: number | undefined };

/** Of a `set`: the new stat. Others: nothing to tell. */
export type MultiResult = { readonly stat?: NodeStat };

export interface Watch {
  stop(): void;
}

export type SessionListener = (event: SessionEvent) => void;

/** `opened` comes first, then suspended / resumed in turn; after `expired` the next `opened` follows. */
export type SessionEvent =
  | { readonly type: 'opened'; readonly sessionId: string }
  | { readonly type: 'suspended' }
  | { readonly type: 'resumed' }
  | { readonly type: 'expired' };

export const maxMultiOperations = 500;
export const maxMultiBytes = 512 * 1024;
