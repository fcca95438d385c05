/**
 * One session with the coordinator and single attempts in it, without any retry: the seam below
 * CoordinatorClient. Implemented by ClientSession (ZooKeeper) and EmbeddedSession (memory).
 *
 * Invariant: `expired` comes from the server only. A request that was cut off rejects with
 * COORDINATOR_UNAVAILABLE whose outcome says whether it may have been applied; every request settles.
 */
import type {
  CoordinatorNode,
  CreateOptions,
  MultiOperation,
  MultiResult,
  NodeStat,
  SessionTicket,
} from '../coordinator';

/** connecting -> connected <-> suspended -> expired | closed; the last two are final. */
export type SessionState = 'connecting' | 'connected' | 'suspended' | 'expired' | 'closed';

export interface ChildList {
  readonly names: readonly string[];
  readonly stat: NodeStat;
}

/** Called once, at the first change after the read that armed it; may be called when nothing changed. */
export type ChangeSignal = () => void;

export type WatchKind = 'data' | 'children';

export interface Session {
  readonly state: SessionState;
  /** Known once connected. */
  readonly ticket: SessionTicket | undefined;
  /** As negotiated. */
  readonly timeoutMs: number;
  /** clock.now() at which the last request was sent that a quorum acknowledged; -Infinity: never. */
  readonly acknowledgedAt: number;

  read(path: string, onChange?: ChangeSignal): Promise<CoordinatorNode | undefined>;
  list(path: string, onChange?: ChangeSignal): Promise<ChildList | undefined>;
  /** Answers the path, with the counter where sequential. */
  create(path: string, data: Buffer, options: CreateOptions): Promise<string>;
  set(path: string, data: Buffer, version: number | undefined): Promise<NodeStat>;
  remove(path: string, version: number | undefined): Promise<void>;
  multi(operations: readonly MultiOperation[]): Promise<MultiResult[]>;
  barrier(): Promise<void>;
  /** Nobody waits for this signal any more. */
  disarm(path: string, onChange: ChangeSignal): void;
  /** Ends the session at the server if it can be reached within `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export type StateListener = (state: SessionState) => void;

export interface SessionFactory {
  /** For messages: the addresses. */
  readonly target: string;
  open(onState: StateListener): Session;
  /** Resumes somebody's session and ends it. False: it was over already. */
  end(ticket: SessionTicket, timeoutMs: number): Promise<boolean>;
}
