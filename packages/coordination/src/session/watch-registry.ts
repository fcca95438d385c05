/**
 * Watches over reconnects and sessions. The server's watch is a one-shot hint: on each signal the value is read again
 * (which arms the next one) and told to those who have not seen it. All watches of one path share one armed signal, the
 * same function each time, so that nothing piles up in the client library.
 *
 * Invariant: after the last change is readable, every subscriber gets it. Used by CoordinatorClient.
 */
import { TributaryError, type Clock, type Logger, type Timer } from '@tributary/common';
import type { Watch } from '../coordinator';
import type { ChangeSignal, WatchKind } from './session';

/** The client library re-sends all watched paths in one packet at each reconnect. */
export const maxWatchedPaths = 3_000;
const RETRY_MS = 200;

export interface Observation {
  /** Differs whenever the value may differ. */
  readonly key: string;
  readonly value: unknown;
}

export interface WatchSource {
  observe(kind: WatchKind, path: string, onChange: ChangeSignal): Promise<Observation>;
  disarm(path: string, onChange: ChangeSignal): void;
}

interface Subscriber {
  seen: string | undefined;
  readonly deliver: (value: unknown) => void;
}

class WatchedPath {
  readonly subscribers = new Set<Subscriber>();
  readonly signal: ChangeSignal = () => this.registry.poke(this);
  reading = false;
  again = false;
  retry: Timer | undefined;

  constructor(
    private readonly registry: WatchRegistry,
    readonly kind: WatchKind,
    readonly path: string,
  ) {}
}

export class WatchRegistry {
  private readonly watched = new Map<string, WatchedPath>();
  private stopped = false;

  constructor(
    private readonly source: WatchSource,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  watch<T>(kind: WatchKind, path: string, onChange: (value: T) => void): Watch {
    const entry = this.entry(kind, path);
    const subscriber: Subscriber = {
      seen: undefined,
      deliver: (value) => onChange(value as T),
    };
    entry.subscribers.add(subscriber);
    this.poke(entry);
    return { stop: () => this.unsubscribe(entry, subscriber) };
  }

  /** After a reconnect or in a new session: everything may have changed. */
  pokeAll(): void {
    for (const entry of [...this.watched.values()]) this.poke(entry);
  }

  stop(): void {
    this.stopped = true;
    for (const entry of this.watched.values()) entry.retry?.cancel();
    this.watched.clear();
  }

  poke(entry: WatchedPath): void {
    if (this.stopped || entry.subscribers.size === 0) return;
    if (entry.reading) entry.again = true;
    else void this.readUntilQuiet(entry);
  }

  private entry(kind: WatchKind, path: string): WatchedPath {
    const id = `${kind} ${path}`;
    const known = this.watched.get(id);
    if (known) return known;
    if (this.watched.size >= maxWatchedPaths) {
      throw new TributaryError('OVERLOADED', `more than ${maxWatchedPaths} watched paths`);
    }
    const entry = new WatchedPath(this, kind, path);
    this.watched.set(id, entry);
    return entry;
  }

  private unsubscribe(entry: WatchedPath, subscriber: Subscriber): void {
    entry.subscribers.delete(subscriber);
    if (entry.subscribers.size > 0) return;
    entry.retry?.cancel();
    const id = `${entry.kind} ${entry.path}`;
    if (this.watched.get(id) !== entry) return;
    this.watched.delete(id);
    this.source.disarm(entry.path, entry.signal);
  }

  private async readUntilQuiet(entry: WatchedPath): Promise<void> {
    entry.reading = true;
    entry.retry?.cancel();
    try {
      do {
        entry.again = false;
        const seen = await this.source.observe(entry.kind, entry.path, entry.signal);
        if (this.stopped) return;
        this.deliver(entry, seen);
      } while (entry.again && entry.subscribers.size > 0);
    } catch (error) {
      this.readLater(entry, error);
    } finally {
      entry.reading = false;
    }
    // Nobody is left: the read above has armed a signal again.
    if (entry.subscribers.size === 0) this.source.disarm(entry.path, entry.signal);
  }

  private deliver(entry: WatchedPath, seen: Observation): void {
    for (const subscriber of [...entry.subscribers]) {
      if (subscriber.seen === seen.key || !entry.subscribers.has(subscriber)) continue;
      subscriber.seen = seen.key;
      try {
        subscriber.deliver(seen.value);
      } catch (error) {
        this.logger.error('a watch callback threw', { error, path: entry.path });
      }
    }
  }

  private readLater(entry: WatchedPath, error: unknown): void {
    if (this.stopped || entry.subscribers.size === 0) return;
    this.logger.debug('a watched path could not be read, trying again', {
      path: entry.path,
      error,
    });
    entry.retry = this.clock.setTimer(RETRY_MS, () => this.poke(entry));
  }
}
