/**
 * A session with the embedded ensemble, and the link it runs over, which faults take down and up. Requests answer in a
 * later microtask, in order.
 */
import { sleep } from '@tributary/common';
import type {
  CoordinatorNode,
  CreateOptions,
  MultiOperation,
  MultiResult,
  NodeStat,
  SessionTicket,
} from '../coordinator';
import { connectionLost, nodeError, sessionExpired } from '../coordinator-errors';
import type {
  ChangeSignal,
  ChildList,
  Session,
  SessionFactory,
  SessionState,
  StateListener,
} from '../session/session';
import type { ClientLink, EmbeddedServer } from './embedded-server';
import type { TreeOperation, TreeResult } from './embedded-tree';

/** How soon a late request notices that its process goes on. */
const FROZEN_POLL_MS = 10;

/** The way from one client to the ensemble. */
export class EmbeddedLink implements SessionFactory, ClientLink {
  readonly target = 'the embedded coordinator';
  private up = true;
  private frozen = false;
  private session: EmbeddedSession | undefined;

  constructor(
    private readonly server: EmbeddedServer,
    private readonly sessionTimeoutMs: number,
  ) {}

  get isUp(): boolean {
    return this.up && !this.server.isHalted;
  }

  get isFrozen(): boolean {
    return this.frozen;
  }

  open(onState: StateListener): Session {
    this.session = new EmbeddedSession(this.server, this, this.sessionTimeoutMs, onState);
    if (this.isUp) this.session.linkUp();
    return this.session;
  }

  async end(ticket: SessionTicket): Promise<boolean> {
    await Promise.resolve();
    if (!this.isUp) throw connectionLost(false);
    if (!this.server.attach(this, ticket, 0)) return false;
    this.server.closeSession(ticket.sessionId);
    return true;
  }

  /** Answers the session that its server now takes for away. */
  freeze(): string | undefined {
    this.frozen = true;
    const sessionId = this.session?.ticket?.sessionId;
    if (sessionId !== undefined) this.server.detach(this, sessionId);
    return sessionId;
  }

  /** Answers the session that goes on. */
  thaw(): string | undefined {
    this.frozen = false;
    const ticket = this.session?.ticket;
    if (this.isUp && ticket && this.server.attach(this, ticket, 0)) return ticket.sessionId;
    this.goDown();
    if (!this.server.isHalted) this.comeUp();
    return ticket?.sessionId;
  }

  goDown(): void {
    if (!this.up || this.frozen) return;
    this.up = false;
    this.session?.linkDown();
  }

  comeUp(): void {
    if (this.up || this.frozen) return;
    this.up = true;
    this.session?.linkUp();
  }

  bounce(reconnectMs: number): void {
    this.goDown();
    this.server.clock.setTimer(reconnectMs, () => {
      if (!this.server.isHalted) this.comeUp();
    });
  }
}

export class EmbeddedSession implements Session {
  private current: SessionState = 'connecting';
  private granted: SessionTicket | undefined;
  private lastConnectedAt = -Infinity;
  /** Counts the connections, so that a request knows whether its own still stands. */
  private connection = 0;
  /** When the request that is late, if one is, arrives: those behind it do not overtake it. */
  private lateUntil = 0;

  constructor(
    private readonly server: EmbeddedServer,
    private readonly link: EmbeddedLink,
    readonly timeoutMs: number,
    private readonly onState: StateListener,
  ) {}

  get state(): SessionState {
    return this.current;
  }

  get ticket(): SessionTicket | undefined {
    return this.granted;
  }

  get acknowledgedAt(): number {
    if (this.current === 'connected') this.lastConnectedAt = this.server.clock.now();
    return this.lastConnectedAt;
  }

  linkUp(): void {
    if (this.current !== 'connecting' && this.current !== 'suspended') return;
    const connection = (this.connection += 1);
    queueMicrotask(() => {
      if (connection !== this.connection || !this.link.isUp) return;
      const ticket = this.server.attach(this.link, this.granted, this.timeoutMs);
      this.granted = ticket ?? this.granted;
      this.enter(ticket ? 'connected' : 'expired');
    });
  }

  linkDown(): void {
    this.connection += 1;
    if (this.granted) this.server.detach(this.link, this.granted.sessionId);
    if (this.current !== 'connected') return;
    this.lastConnectedAt = this.server.clock.now();
    this.enter('suspended');
  }

  async read(path: string, onChange?: ChangeSignal): Promise<CoordinatorNode | undefined> {
    const watch = onChange && ({ kind: 'data', signal: onChange } as const);
    return this.request(false, (id) => this.server.read(id, path, watch)?.node);
  }

  async list(path: string, onChange?: ChangeSignal): Promise<ChildList | undefined> {
    return this.request(false, (id) => {
      const watch = onChange && ({ kind: 'children', signal: onChange } as const);
      const view = this.server.read(id, path, watch);
      if (view) return { names: view.names, stat: view.node.stat };
      // No children to watch where there is no node: its creation is the change.
      if (!onChange) return undefined;
      this.server.disarm(path, onChange);
      const now = this.server.read(id, path, { kind: 'data', signal: onChange });
      return now && { names: now.names, stat: now.node.stat };
    });
  }

  async create(path: string, data: Buffer, options: CreateOptions): Promise<string> {
    const { ephemeral = false, sequential = false } = options;
    const [result] = await this.write((id) => [
      { type: 'create', path, data, ephemeralOwner: ephemeral ? id : undefined, sequential },
    ]);
    return result?.path ?? path;
  }

  async set(path: string, data: Buffer, version: number | undefined): Promise<NodeStat> {
    const [result] = await this.write(() => [{ type: 'set', path, data, version }]);
    if (!result?.stat) throw nodeError('NO_NODE', path);
    return result.stat;
  }

  async remove(path: string, version: number | undefined): Promise<void> {
    await this.write(() => [{ type: 'remove', path, version }]);
  }

  async multi(operations: readonly MultiOperation[]): Promise<MultiResult[]> {
    const results = await this.write((id) => operations.map((each) => treeOperation(each, id)));
    return operations.map(({ type }, index) =>
      type === 'set' ? { stat: results[index]?.stat } : {},
    );
  }

  async barrier(): Promise<void> {
    return this.request(true, (id) => this.server.catchUp(id));
  }

  disarm(path: string, onChange: ChangeSignal): void {
    this.server.disarm(path, onChange);
  }

  async close(): Promise<void> {
    await Promise.resolve();
    if (this.granted && this.link.isUp) this.server.closeSession(this.granted.sessionId);
    this.connection += 1;
    this.current = 'closed';
    this.server.forget(this.link);
  }

  private write(
    operations: (sessionId: string) => readonly TreeOperation[],
  ): Promise<TreeResult[]> {
    return this.request(true, (id) => {
      const { results, reply } = this.server.write(id, operations(id));
      if (!reply) throw connectionLost(true);
      return results;
    });
  }

  private async request<T>(isWrite: boolean, perform: (sessionId: string) => T): Promise<T> {
    const { connection } = this;
    if (this.current === 'expired') throw sessionExpired(false);
    const sessionId = this.granted?.sessionId;
    if (this.current !== 'connected' || sessionId === undefined) throw connectionLost(false);
    await Promise.resolve();
    const isLate = this.isLate(sessionId);
    if (isLate) await this.arrival(sessionId);
    if (connection !== this.connection) throw connectionLost(isLate && isWrite);
    if (!this.server.hasSession(sessionId)) throw connectionLost(false);
    const outcome = attempt(perform, sessionId);
    await Promise.resolve();
    if (connection !== this.connection && isWrite) throw connectionLost(true);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  private isLate(sessionId: string): boolean {
    return this.server.lateRequestMs(sessionId) > 0 || this.server.clock.now() < this.lateUntil;
  }

  /** What a stopped process was about to send leaves it when it goes on. */
  private async arrival(sessionId: string): Promise<void> {
    const { clock } = this.server;
    this.lateUntil = Math.max(this.lateUntil, clock.now() + this.server.lateRequestMs(sessionId));
    await sleep(clock, this.lateUntil - clock.now());
    while (this.link.isFrozen) await sleep(clock, FROZEN_POLL_MS);
  }

  private enter(state: SessionState): void {
    this.current = state;
    this.onState(state);
  }
}

function attempt<T>(
  perform: (sessionId: string) => T,
  sessionId: string,
): { value: T } | { error: unknown } {
  try {
    return { value: perform(sessionId) };
  } catch (error) {
    return { error };
  }
}

function treeOperation(operation: MultiOperation, sessionId: string): TreeOperation {
  if (operation.type !== 'create') return operation;
  const { path, data, ephemeral } = operation;
  const ephemeralOwner = ephemeral ? sessionId : undefined;
  return { type: 'create', path, data, ephemeralOwner, sequential: false };
}
