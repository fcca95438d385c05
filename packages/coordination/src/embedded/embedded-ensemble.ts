/**
 * ZooKeeper's semantics in memory: one tree, sessions that expire on a clock, ephemerals, one-shot watches. For unit
 * tests, the simulation, and clusters in one process with nothing to install.
 *
 * Invariant: a session expires only here, when its client has been away for its timeout, or by `expire`; its
 * ephemerals go in the same transaction. Called by EmbeddedSession (requests) and by tests and simulators (faults).
 */
import {
  silentLogger,
  systemRandom,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type { SessionTicket } from '../coordinator';
import type { ChangeSignal, WatchKind } from '../session/session';
import { EmbeddedCoordinator } from './embedded-coordinator';
import { FaultDice, type EmbeddedFaults } from './embedded-faults';
import { EmbeddedHistory } from './embedded-history';
import type { ClientLink, EmbeddedServer } from './embedded-server';
import { SignalTable } from './embedded-signals';
import type { EmbeddedTransaction } from './embedded-transaction';
import {
  EmbeddedTree,
  type TreeChange,
  type TreeOperation,
  type TreeResult,
  type TreeView,
} from './embedded-tree';

export interface EmbeddedEnsembleOptions {
  readonly clock: Clock;
  /** For one-time names and passwords. Default: the system's. */
  readonly random?: Random;
  readonly logger?: Logger;
  readonly faults?: EmbeddedFaults;
  /** Sees each transaction that was applied, in order: the audit log of a simulation. */
  observe?(transaction: EmbeddedTransaction): void;
}

interface SessionRecord {
  readonly ticket: SessionTicket;
  readonly timeoutMs: number;
  /** The client that is connected with it now. */
  link: ClientLink | undefined;
  expiry: Timer | undefined;
  /** Transaction up to which its client has seen the tree. */
  seenZxid: number;
  /** Its client is stopped: watches that fired meanwhile. */
  held: ChangeSignal[] | undefined;
}

export interface EmbeddedConnectOptions {
  /** Default 10 000. */
  readonly sessionTimeoutMs?: number;
  /** Everything of this client lies below. Default `/`. */
  readonly chroot?: string;
  /** The client's own. Default: the ensemble's. */
  readonly clock?: Clock;
}

export class EmbeddedEnsemble implements EmbeddedServer {
  private readonly tree = new EmbeddedTree();
  private readonly history: EmbeddedHistory | undefined;
  private readonly dice: FaultDice;
  private readonly sessions = new Map<string, SessionRecord>();
  private readonly links = new Set<ClientLink>();
  private readonly signals = {
    data: new SignalTable<SessionRecord>(),
    children: new SignalTable<SessionRecord>(),
  };
  private readonly random: Random;
  private sessionsMade = 0;
  private halted = false;

  constructor(private readonly options: EmbeddedEnsembleOptions) {
    this.random = options.random ?? systemRandom;
    this.dice = new FaultDice(options.faults);
    this.history = this.dice.staleReadsPossible ? new EmbeddedHistory() : undefined;
  }

  connect(options: EmbeddedConnectOptions = {}): EmbeddedCoordinator {
    const { clock, logger = silentLogger } = this.options;
    const coordinator = new EmbeddedCoordinator(this, {
      sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
      chroot: options.chroot ?? '/',
      clock: options.clock ?? clock,
      random: this.random,
      logger,
    });
    this.links.add(coordinator.link);
    // `resume` brings it up.
    if (this.halted) coordinator.link.goDown();
    return coordinator;
  }

  /** The client loses contact; its session expires unless `reconnect` comes within its timeout. */
  disconnect(client: EmbeddedCoordinator): void {
    client.link.goDown();
  }

  reconnect(client: EmbeddedCoordinator): void {
    if (!this.halted) client.link.comeUp();
  }

  /** Its process is stopped (SIGSTOP), which it does not notice: it hears and says nothing, and its session may run out. */
  freeze(client: EmbeddedCoordinator): void {
    const sessionId = client.link.freeze();
    const session = sessionId === undefined ? undefined : this.sessions.get(sessionId);
    if (session) session.held = [];
  }

  /** It goes on; if its session is over, it hears of that now. */
  thaw(client: EmbeddedCoordinator): void {
    const sessionId = client.link.thaw();
    const session = sessionId === undefined ? undefined : this.sessions.get(sessionId);
    const signals = session?.held ?? [];
    if (session) session.held = undefined;
    for (const signal of signals) queueMicrotask(signal);
  }

  /** Its process died: it hears and says nothing more. The session runs out. */
  abandon(client: EmbeddedCoordinator): void {
    client.abandon();
    client.link.goDown();
    this.links.delete(client.link);
  }

  /** Ends a session at once, as the server does after its timeout. */
  expire(sessionId: string): void {
    const session = this.sessions.get(sessionId);
    if (!session) return;
    const { link } = session;
    this.endSession(session);
    link?.bounce(0);
  }

  /** The whole ensemble is away; meanwhile no session expires. */
  halt(): void {
    this.halted = true;
    for (const link of this.links) link.goDown();
    for (const session of this.sessions.values()) session.expiry?.cancel();
  }

  /** It is back; the clocks of all sessions start anew. Clients disconnected one by one come back, too. */
  resume(): void {
    this.halted = false;
    for (const session of this.sessions.values()) this.startExpiry(session);
    for (const link of this.links) link.comeUp();
  }

  /** Armed and not fired yet. */
  get watches(): number {
    return this.signals.data.size + this.signals.children.size;
  }

  /** As the tree is now, beside all sessions and faults. */
  peek(path: string): TreeView | undefined {
    return this.tree.view(path);
  }

  get clock(): Clock {
    return this.options.clock;
  }

  get isHalted(): boolean {
    return this.halted;
  }

  attach(
    link: ClientLink,
    ticket: SessionTicket | undefined,
    timeoutMs: number,
  ): SessionTicket | undefined {
    const session = ticket ? this.sessions.get(ticket.sessionId) : this.newSession(timeoutMs);
    if (!session || (ticket && session.ticket.password !== ticket.password)) return undefined;
    session.expiry?.cancel();
    const previous = session.link;
    session.link = link;
    // A connection counts only once a quorum has answered on it.
    session.seenZxid = this.tree.zxid;
    // Its server cuts off the client that had the session before.
    if (previous && previous !== link) previous.bounce(0);
    return session.ticket;
  }

  detach(link: ClientLink, sessionId: string): void {
    const session = this.sessions.get(sessionId);
    if (!session || session.link !== link) return;
    session.link = undefined;
    if (!this.halted) this.startExpiry(session);
  }

  closeSession(sessionId: string): void {
    const session = this.sessions.get(sessionId);
    if (session) this.endSession(session);
  }

  hasSession(sessionId: string): boolean {
    return this.sessions.has(sessionId);
  }

  lateRequestMs(sessionId: string): number {
    return this.dice.lateRequestMs(sessionId);
  }

  forget(link: ClientLink): void {
    this.links.delete(link);
  }

  read(
    sessionId: string,
    path: string,
    watch?: { kind: WatchKind; signal: ChangeSignal },
  ): TreeView | undefined {
    const session = this.sessions.get(sessionId);
    const zxid = this.readPoint(session);
    if (watch) {
      if (this.history?.changedAfter(path, zxid)) this.later(watch.signal, session);
      else this.signals[watch.kind].add(path, watch.signal, session);
    }
    return this.history ? this.history.viewAt(this.tree, path, zxid) : this.tree.view(path);
  }

  disarm(path: string, signal: ChangeSignal): void {
    this.signals.data.remove(path, signal);
    this.signals.children.remove(path, signal);
  }

  write(
    sessionId: string,
    operations: readonly TreeOperation[],
  ): { results: TreeResult[]; reply: boolean } {
    const session = this.sessions.get(sessionId);
    const lost = this.dice.lostReply();
    if (lost && this.dice.coin()) {
      session?.link?.bounce(this.dice.reconnectMs());
      return { results: [], reply: false };
    }
    try {
      return {
        results: lost
          ? this.applyQuietly(sessionId, operations)
          : this.transact(sessionId, operations),
        reply: !lost,
      };
    } finally {
      // A refusal tells the session how far the tree is, too.
      if (session && !lost) session.seenZxid = this.tree.zxid;
      if (lost) session?.link?.bounce(this.dice.reconnectMs());
    }
  }

  catchUp(sessionId: string): void {
    const session = this.sessions.get(sessionId);
    if (session) session.seenZxid = this.tree.zxid;
  }

  private applyQuietly(sessionId: string, operations: readonly TreeOperation[]): TreeResult[] {
    try {
      return this.transact(sessionId, operations);
    } catch {
      return []; // refused, but nobody hears of it
    }
  }

  private transact(
    sessionId: string | undefined,
    operations: readonly TreeOperation[],
  ): TreeResult[] {
    const before = new Map<string, TreeView | undefined>();
    if (this.history) {
      for (const { path } of operations) {
        for (const each of [path, path.slice(0, path.lastIndexOf('/')) || '/']) {
          before.set(each, this.tree.view(each));
        }
      }
    }
    const { results, changes } = this.tree.apply(operations);
    this.history?.record(this.tree, changes, before);
    this.options.observe?.({ zxid: this.tree.zxid, sessionId, operations, results });
    this.fire(changes);
    return results;
  }

  private fire(changes: readonly TreeChange[]): void {
    for (const { path, kind } of changes) {
      for (const [signal, session] of this.signals[kind].take(path)) this.later(signal, session);
    }
  }

  /** Watches never run inside the request that caused them. */
  private later(signal: ChangeSignal, session: SessionRecord | undefined): void {
    const call = (): void => {
      if (session?.held) session.held.push(signal);
      else signal();
    };
    const delayMs = this.dice.lateWatchMs();
    if (delayMs > 0) this.clock.setTimer(delayMs, call);
    else queueMicrotask(call);
  }

  private readPoint(session: SessionRecord | undefined): number {
    const { zxid } = this.tree;
    if (!session || !this.history || !this.dice.staleRead()) {
      if (session) session.seenZxid = zxid;
      return zxid;
    }
    // One short of what is remembered, so that the oldest state is whole.
    const oldest = Math.max(session.seenZxid, zxid - 32);
    session.seenZxid = this.dice.between(oldest, zxid);
    return session.seenZxid;
  }

  private newSession(timeoutMs: number): SessionRecord {
    this.sessionsMade += 1;
    const session: SessionRecord = {
      ticket: {
        sessionId: (0x1000000 + this.sessionsMade).toString(16).padStart(16, '0'),
        password: this.random.bytes(16).toString('hex'),
      },
      timeoutMs,
      link: undefined,
      expiry: undefined,
      seenZxid: this.tree.zxid,
      held: undefined,
    };
    this.sessions.set(session.ticket.sessionId, session);
    return session;
  }

  private startExpiry(session: SessionRecord): void {
    session.expiry?.cancel();
    if (session.link) return;
    session.expiry = this.clock.setTimer(session.timeoutMs, () => this.endSession(session), {
      unref: true,
    });
  }

  private endSession(session: SessionRecord): void {
    session.expiry?.cancel();
    const { sessionId } = session.ticket;
    if (!this.sessions.delete(sessionId)) return;
    const paths = this.tree.ephemeralsOf(sessionId);
    const removals = paths.map((path) => ({ type: 'remove', path, version: undefined }) as const);
    if (removals.length > 0) this.transact(undefined, removals);
  }
}
