/**
 * One ZooKeeper session on one client of node-zookeeper-client: the only file that imports that package, whose traps
 * end here (each has a test by name on a real server). What lies above sees the Session port.
 *
 * Invariants: connected means that a quorum has answered on this connection; nothing is handed to the library while it
 * is not connected; every request settles; only the server's word makes a session expired, however long the silence.
 */
import type { Clock, Timer } from '@tributary/common';
import * as library from 'node-zookeeper-client';
import type {
  CoordinatorNode,
  CreateOptions,
  MultiOperation,
  MultiResult,
  NodeStat,
  SessionTicket,
} from '../coordinator';
import { connectionLost, coordinatorClosed, sessionExpired } from '../coordinator-errors';
import type {
  ChangeSignal,
  ChildList,
  Session,
  SessionState,
  StateListener,
} from '../session/session';
import { GatheredWrites } from './gathered-writes';
import { Heartbeat } from './heartbeat';
import {
  abort,
  clearRemains,
  dropWatcher,
  linkStates,
  setLastVersion,
  tolerateUnknownErrorCodes,
  type LibraryConnection,
  type LibraryTransaction,
} from './library-internals';
import {
  codeOf,
  multiRefusal,
  multiResults,
  noNodeCode,
  notSent,
  type PartResult,
} from './library-replies';
import { MuteServerWatch } from './mute-server-watch';
import { nodeStat } from './node-stat';
import { RequestsInFlight, type Done } from './requests-in-flight';

tolerateUnknownErrorCodes(library.Exception as unknown as { create: () => Error });

/** Upper bound of the pause before the list of servers is tried again. */
const SPIN_DELAY_MS = 150;
const MAX_XID = 2 ** 31 - 1_000_000;

export interface ClientSessionOptions {
  readonly servers: string;
  readonly sessionTimeoutMs: number;
  readonly clock: Clock;
  readonly onState: StateListener;
  /** Resumes this session instead of opening one. */
  readonly ticket?: SessionTicket;
}

export class ClientSession implements Session {
  private current: SessionState = 'connecting';
  private granted: SessionTicket | undefined;
  private lastAcknowledgedAt = -Infinity;
  private readonly client: library.Client;
  private readonly connection: LibraryConnection;
  private readonly heartbeat: Heartbeat;
  private readonly tickMs: number;
  private readonly inFlight = new RequestsInFlight();
  private readonly muteServer = new MuteServerWatch();
  private readonly writes = new GatheredWrites();
  private timer: Timer | undefined;
  private awayAt: number;
  private onGone: (() => void) | undefined;

  constructor(private readonly options: ClientSessionOptions) {
    const { servers, sessionTimeoutMs, clock, ticket } = options;
    this.tickMs = Math.max(20, Math.min(200, sessionTimeoutMs / 20));
    this.heartbeat = new Heartbeat(this.tickMs, sessionTimeoutMs);
    this.awayAt = clock.now();
    const resumed = ticket && {
      sessionId: Buffer.from(ticket.sessionId, 'hex'),
      sessionPassword: Buffer.from(ticket.password, 'hex'),
    };
    this.client = library.createClient(servers, {
      sessionTimeout: sessionTimeoutMs,
      spinDelay: SPIN_DELAY_MS,
      retries: 0,
      ...resumed,
    });
    const inside = this.client as unknown as { connectionManager: LibraryConnection };
    this.connection = inside.connectionManager;
    this.connection.prependListener('state', (state) => this.onLinkState(state));
    this.scheduleTick();
    this.client.connect();
  }

  get state(): SessionState {
    return this.current;
  }

  get ticket(): SessionTicket | undefined {
    return this.granted;
  }

  get timeoutMs(): number {
    return this.heartbeat.timeoutMs;
  }

  get acknowledgedAt(): number {
    return this.lastAcknowledgedAt;
  }

  async read(path: string, onChange?: ChangeSignal): Promise<CoordinatorNode | undefined> {
    for (;;) {
      const node = await this.request<CoordinatorNode | undefined>(path, (done) => {
        const answer = (error: unknown, data: Buffer | undefined, stat: library.Stat): void => {
          if (codeOf(error) === noNodeCode) done(undefined, undefined);
          else if (error) done(error);
          else done(undefined, { data: data ?? Buffer.alloc(0), stat: nodeStat(stat) });
        };
        if (onChange) this.client.getData(path, onChange, answer);
        else this.client.getData(path, answer);
      });
      if (node || !onChange || !(await this.exists(path, onChange))) return node;
    }
  }

  async list(path: string, onChange?: ChangeSignal): Promise<ChildList | undefined> {
    for (;;) {
      const list = await this.request<ChildList | undefined>(path, (done) => {
        const answer = (error: unknown, names: string[], stat: library.Stat): void => {
          if (codeOf(error) === noNodeCode) done(undefined, undefined);
          else if (error) done(error);
          else done(undefined, { names, stat: nodeStat(stat) });
        };
        if (onChange) this.client.getChildren(path, onChange, answer);
        else this.client.getChildren(path, answer);
      });
      if (list || !onChange || !(await this.exists(path, onChange))) return list;
    }
  }

  async create(path: string, data: Buffer, options: CreateOptions): Promise<string> {
    const { CreateMode } = library;
    const { ephemeral = false, sequential = false } = options;
    const persistentMode = sequential ? CreateMode.PERSISTENT_SEQUENTIAL : CreateMode.PERSISTENT;
    const ephemeralMode = sequential ? CreateMode.EPHEMERAL_SEQUENTIAL : CreateMode.EPHEMERAL;
    const mode = ephemeral ? ephemeralMode : persistentMode;
    return this.request<string>(path, (done) => this.client.create(path, data, mode, done));
  }

  async set(path: string, data: Buffer, version: number | undefined): Promise<NodeStat> {
    const stat = await this.request<library.Stat>(path, (done) =>
      this.client.setData(path, data, version ?? -1, done),
    );
    return nodeStat(stat);
  }

  async remove(path: string, version: number | undefined): Promise<void> {
    await this.request<void>(path, (done) =>
      this.client.remove(path, version ?? -1, (error) => done(error, undefined)),
    );
  }

  async multi(operations: readonly MultiOperation[]): Promise<MultiResult[]> {
    const transaction = this.transaction(operations);
    return this.request<MultiResult[]>('', (done) =>
      transaction.commit((error, parts: PartResult[] | undefined) =>
        error
          ? done(multiRefusal(error, operations, parts))
          : done(undefined, multiResults(operations, parts)),
      ),
    );
  }

  /** Goes through the leader, and the server that we read from has applied it before it answers. */
  async barrier(): Promise<void> {
    await this.multi([{ type: 'check', path: '/', version: -1 }]);
  }

  disarm(path: string, onChange: ChangeSignal): void {
    dropWatcher(this.connection, path, onChange);
  }

  async close(timeoutMs: number): Promise<void> {
    if (this.isOver()) return;
    const { clock } = this.options;
    const deadline = clock.now() + timeoutMs;
    this.timer?.cancel();
    // Only a connected library client can close its session. After a break it usually reconnects soon.
    while (this.granted && !this.canSend() && clock.now() < deadline) {
      await new Promise<void>((resolve) => clock.setTimer(this.tickMs, resolve));
    }
    if (this.canSend()) await this.sendClose(Math.max(0, deadline - clock.now()));
    this.finish('closed', coordinatorClosed());
  }

  private isOver(): boolean {
    return this.current === 'expired' || this.current === 'closed';
  }

  private canSend(): boolean {
    return this.connection.state === linkStates.connected;
  }

  private sendClose(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.options.clock.setTimer(timeoutMs, resolve);
      this.onGone = () => {
        timer.cancel();
        resolve();
      };
      this.client.close();
    });
  }

  private onLinkState(state: number): void {
    if (this.isOver()) return;
    const now = this.options.clock.now();
    if (state === linkStates.connected) {
      this.heartbeat.timeoutMs = this.client.getSessionTimeout();
      this.granted = {
        sessionId: this.client.getSessionId().toString('hex'),
        password: this.client.getSessionPassword().toString('hex'),
      };
      this.heartbeat.connected(now);
      // After this event the library is ready to send.
      queueMicrotask(() => this.beat());
    } else if (state === linkStates.disconnected) {
      this.onDisconnected(now);
    } else if (state === linkStates.expired || state === linkStates.authenticationFailed) {
      this.finish('expired', sessionExpired(true));
    }
  }

  private onDisconnected(now: number): void {
    for (const packet of clearRemains(this.connection)) {
      packet.callback?.(notSent());
    }
    // The library forgets requests whose reply was out of order, and calls others back later.
    this.inFlight.failAll(connectionLost(true));
    if (this.current === 'connected') {
      this.awayAt = now;
      this.enter('suspended');
    }
    // A server that lost its data refuses a client that has seen more than it has, without a word, for ever. After a
    // long silence we therefore ask as if we had seen nothing; the heartbeat before `connected` is the barrier that
    // keeps us from reading the past.
    if (now - this.awayAt > 2 * this.timeoutMs) this.connection.zxid = Buffer.alloc(8);
    this.onGone?.();
  }

  private scheduleTick(): void {
    this.timer = this.options.clock.setTimer(this.tickMs, () => {
      if (this.isOver()) return;
      this.tick(this.options.clock.now());
      this.scheduleTick();
    });
  }

  private tick(now: number): void {
    if (this.muteServer.isMute(this.connection, now, this.timeoutMs)) {
      return this.reconnect('the server accepts connections but is silent');
    }
    if (!this.canSend()) return;
    if (this.connection.xid > MAX_XID) return this.reconnect('the request numbers run out');
    const action = this.heartbeat.tick(now);
    if (action === 'reconnect') this.reconnect('no answer to the heartbeat');
    if (action === 'send') this.beat();
  }

  private reconnect(why: string): void {
    this.connection.socket?.destroy(new Error(why));
  }

  /** A quorum operation: a follower that is cut off from its leader answers reads and pings, but not this. */
  private beat(): void {
    if (!this.canSend() || this.isOver()) return;
    const sentAt = this.options.clock.now();
    const { socket } = this.connection;
    this.heartbeat.sent(sentAt);
    const transaction = this.client.transaction().check('/');
    transaction.commit((error) => {
      if (error || this.isOver() || socket !== this.connection.socket) return;
      this.heartbeat.acknowledged();
      this.lastAcknowledgedAt = Math.max(this.lastAcknowledgedAt, sentAt);
      if (this.current === 'connecting' || this.current === 'suspended') this.enter('connected');
    });
  }

  private exists(path: string, onChange: ChangeSignal): Promise<boolean> {
    return this.request<boolean>(path, (done) =>
      this.client.exists(path, onChange, (error, stat: library.Stat | null) =>
        done(error, stat !== null),
      ),
    );
  }

  private transaction(operations: readonly MultiOperation[]): library.Transaction {
    const { CreateMode } = library;
    const transaction = this.client.transaction();
    for (const operation of operations) {
      const { path } = operation;
      if (operation.type === 'create') {
        const mode = operation.ephemeral ? CreateMode.EPHEMERAL : CreateMode.PERSISTENT;
        transaction.create(path, operation.data, mode);
        continue;
      }
      if (operation.type === 'check') transaction.check(path);
      else if (operation.type === 'set') transaction.setData(path, operation.data);
      else transaction.remove(path);
      setLastVersion(transaction as unknown as LibraryTransaction, operation.version);
    }
    return transaction;
  }

  private request<T>(path: string, send: (done: Done<T>) => void): Promise<T> {
    if (this.current === 'expired') return Promise.reject(sessionExpired(false));
    if (this.current === 'closed') return Promise.reject(coordinatorClosed());
    if (this.current !== 'connected' || !this.canSend()) {
      return Promise.reject(connectionLost(false));
    }
    this.writes.gather(this.connection.socket);
    return this.inFlight.start(path, send);
  }

  private enter(state: SessionState): void {
    this.current = state;
    this.options.onState(state);
  }

  private finish(state: 'expired' | 'closed', reason: Error): void {
    this.current = state;
    this.timer?.cancel();
    abort(this.connection);
    for (const packet of clearRemains(this.connection)) packet.callback?.(reason);
    this.inFlight.failAll(reason);
    this.onGone?.();
    this.options.onState(state);
  }
}
