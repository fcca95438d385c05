/**
 * The Coordinator port on top of single sessions: retries, reading back after lost replies, chroot, limits and
 * watches. ZooKeeper and the embedded ensemble differ only below this.
 *
 * Invariant (reading back): a lost `create` counts as done when the node is of our session (ephemeral), carries our
 * one-time name (sequential), or is untouched with our bytes; a lost `set` when the version is the next one with our
 * bytes. So bytes written by compare-and-set must tell their writers apart.
 */
import { type Clock, type Logger, type Random, TributaryError, hasCode } from '@tributary/common';
import type {
  Coordinator,
  CoordinatorNode,
  CoordinatorStatus,
  CreatedNode,
  CreateOptions,
  MultiOperation,
  MultiResult,
  NodeStat,
  SessionListener,
  SessionTicket,
  Watch,
} from '../coordinator';
import { connectionLost, nodeError, sessionExpired } from '../coordinator-errors';
import {
  joinPath,
  parentPath,
  pathPrefixes,
  validateData,
  validateMulti,
  validatePath,
} from './node-path';
import { Operations } from './operations';
import { SessionManager } from './session-manager';
import type { Session, SessionFactory, WatchKind } from './session';
import { WatchRegistry, type Observation } from './watch-registry';

export interface CoordinatorClientOptions {
  readonly factory: SessionFactory;
  /** `/` or a path below which everything lies; it is created. */
  readonly chroot: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const defaultCloseTimeoutMs = 1_000;

export class CoordinatorClient implements Coordinator {
  private readonly sessions: SessionManager;
  private readonly operations: Operations;
  private readonly watches: WatchRegistry;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: CoordinatorClientOptions) {
    const { factory, clock, random, logger } = options;
    this.sessions = new SessionManager(factory, (s) => this.createChroot(s), clock, logger);
    this.operations = new Operations(this.sessions, factory.target, clock, random);
    this.watches = new WatchRegistry(
      {
        observe: (kind, path, signal) => this.observe(kind, path, signal),
        disarm: (path, signal) => this.sessions.current?.disarm(this.full(path), signal),
      },
      clock,
      logger,
    );
    this.sessions.onSession((event) => {
      if (event.type === 'opened' || event.type === 'resumed') this.watches.pokeAll();
    });
  }

  get status(): CoordinatorStatus {
    return this.sessions.status;
  }

  get sessionId(): string | undefined {
    return this.sessionTicket?.sessionId;
  }

  get sessionTicket(): SessionTicket | undefined {
    return this.sessions.current?.ticket;
  }

  get sessionTimeoutMs(): number {
    return this.sessions.current?.timeoutMs ?? 0;
  }

  get silentForMs(): number {
    return Math.max(0, this.options.clock.now() - this.sessions.acknowledgedAt);
  }

  async get(path: string): Promise<CoordinatorNode | undefined> {
    validatePath(path);
    return this.operations.read((session) => session.read(this.full(path)));
  }

  async children(path: string): Promise<string[] | undefined> {
    validatePath(path);
    const list = await this.operations.read((session) => session.list(this.full(path)));
    return list && [...list.names].sort();
  }

  async create(path: string, data: Buffer, options: CreateOptions = {}): Promise<CreatedNode> {
    validatePath(path);
    validateData(path, data);
    const target = options.sequential ? this.oneTimeName(path) : path;
    const { created, sessionId } = await this.operations.write(async (session, afterLoss) => ({
      created: await this.createOnce(session, target, { data, options, afterLoss }),
      sessionId: session.ticket?.sessionId,
    }));
    const node = await this.operations.read((session) => session.read(this.full(created)));
    const owner = node?.stat.ephemeralOwner;
    if (options.ephemeral && owner !== sessionId) throw sessionExpired(true);
    if (!node) throw nodeError('NO_NODE', created); // somebody removed it at once
    return { path: created, stat: node.stat };
  }

  async ensurePath(path: string): Promise<void> {
    validatePath(path);
    if (await this.get(path)) return;
    for (const prefix of pathPrefixes(path)) {
      await this.operations.write(async (session) => makeIfMissing(session, this.full(prefix)));
    }
  }

  async set(path: string, data: Buffer, version: number | undefined): Promise<NodeStat> {
    validatePath(path);
    validateData(path, data);
    const full = this.full(path);
    return this.operations.write(async (session, afterLoss) => {
      try {
        return await session.set(full, data, version);
      } catch (error) {
        if (!afterLoss || version === undefined || !hasCode(error, 'BAD_VERSION')) {
          throw this.outward(error, path, afterLoss);
        }
        const now = await session.read(full);
        const next = now?.stat.version === version + 1;
        if (next && now.data.equals(data)) return now.stat;
        // The very next version with other bytes is somebody else's; a later one may stand on ours.
        throw this.outward(error, path, !next);
      }
    });
  }

  async remove(path: string, version?: number): Promise<void> {
    validatePath(path);
    return this.operations.write(async (session, afterLoss) => {
      try {
        await session.remove(this.full(path), version);
      } catch (error) {
        if (!(afterLoss && hasCode(error, 'NO_NODE'))) throw this.outward(error, path, afterLoss);
      }
    });
  }

  async multi(operations: readonly MultiOperation[]): Promise<MultiResult[]> {
    validateMulti(operations);
    const full = operations.map((each) => ({ ...each, path: this.full(each.path) }));
    return this.operations.writeOnce(async (session) => {
      try {
        return await session.multi(full);
      } catch (error) {
        const index = error instanceof TributaryError ? error.details['index'] : undefined;
        throw typeof index === 'number'
          ? this.outward(error, operations[index]?.path ?? '')
          : error;
      }
    });
  }

  async barrier(): Promise<void> {
    return this.operations.read((session) => session.barrier());
  }

  watchData(path: string, onChange: (node: CoordinatorNode | undefined) => void): Watch {
    validatePath(path);
    return this.watches.watch('data', path, onChange);
  }

  watchChildren(path: string, onChange: (names: string[] | undefined) => void): Watch {
    validatePath(path);
    return this.watches.watch('children', path, onChange);
  }

  async ready(timeoutMs: number): Promise<void> {
    if (await this.sessions.connected(timeoutMs)) return;
    throw new TributaryError(
      'COORDINATOR_UNAVAILABLE',
      `no coordinator answered at ${this.options.factory.target} within ${Math.round(timeoutMs)} ms`,
    );
  }

  onSession(listener: SessionListener): Watch {
    return this.sessions.onSession(listener);
  }

  async endSession(ticket: SessionTicket): Promise<boolean> {
    const timeoutMs = Math.max(this.sessionTimeoutMs, 5_000);
    return this.options.factory.end(ticket, timeoutMs);
  }

  close(timeoutMs = defaultCloseTimeoutMs): Promise<void> {
    this.watches.stop();
    this.closing ??= this.sessions.close(timeoutMs);
    return this.closing;
  }

  /** A simulated crash of the process: no call ends, no listener is told, the session is left to run out. */
  abandon(): void {
    this.watches.stop();
    this.sessions.abandon();
  }

  private full(path: string): string {
    const { chroot } = this.options;
    if (chroot === '/') return path;
    return path === '/' ? chroot : chroot + path;
  }

  /** @param maybeApplied an earlier attempt of the same call may have been. */
  private outward(error: unknown, path: string, maybeApplied = false): unknown {
    if (!hasCode(error, 'NO_NODE', 'NODE_EXISTS', 'BAD_VERSION', 'NOT_EMPTY')) return error;
    const { details } = error;
    const index = typeof details['index'] === 'number' ? details['index'] : undefined;
    const code = error.code as 'NO_NODE' | 'NODE_EXISTS' | 'BAD_VERSION' | 'NOT_EMPTY';
    return nodeError(code, path, index, maybeApplied ? 'maybe written' : 'not written');
  }

  /** A name that no other call has: after a lost reply the node can be recognised among its siblings. */
  private oneTimeName(path: string): string {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const token = this.options.random.bytes(16).toString('hex');
    return joinPath(parentPath(path), `${token}-${name}`);
  }

  private async createOnce(
    session: Session,
    path: string,
    call: { data: Buffer; options: CreateOptions; afterLoss: boolean },
  ): Promise<string> {
    const { data, options, afterLoss } = call;
    const full = this.full(path);
    if (afterLoss && options.sequential) {
      const siblings = await session.list(parentPath(full));
      const name = full.slice(full.lastIndexOf('/') + 1);
      const mine = siblings?.names.find((sibling) => sibling.startsWith(name));
      if (mine !== undefined) return joinPath(parentPath(path), mine);
    }
    try {
      const created = await session.create(full, data, options);
      return this.options.chroot === '/' ? created : created.slice(this.options.chroot.length);
    } catch (error) {
      if (!afterLoss || !hasCode(error, 'NODE_EXISTS')) {
        throw this.outward(error, path, afterLoss);
      }
      const there = await session.read(full);
      if (!there) throw connectionLost(true); // gone again: try once more
      const ours = options.ephemeral
        ? there.stat.ephemeralOwner === session.ticket?.sessionId
        : there.stat.version === 0 && there.data.equals(data);
      if (ours) return path;
      throw this.outward(error, path, true);
    }
  }

  private async createChroot(session: Session): Promise<void> {
    if (this.options.chroot === '/' || (await session.read(this.options.chroot))) return;
    for (const prefix of pathPrefixes(this.options.chroot)) await makeIfMissing(session, prefix);
  }

  private async observe(kind: WatchKind, path: string, signal: () => void): Promise<Observation> {
    const full = this.full(path);
    if (kind === 'data') {
      const node = await this.operations.read((session) => session.read(full, signal));
      return { key: node ? `${node.stat.czxid} ${node.stat.mzxid}` : 'none', value: node };
    }
    const list = await this.operations.read((session) => session.list(full, signal));
    const key = list ? `${list.stat.czxid} ${list.stat.childrenVersion}` : 'none';
    return { key, value: list && [...list.names].sort() };
  }
}

async function makeIfMissing(session: Session, path: string): Promise<void> {
  try {
    await session.create(path, Buffer.alloc(0), {});
  } catch (error) {
    if (!hasCode(error, 'NODE_EXISTS')) throw error;
  }
}
