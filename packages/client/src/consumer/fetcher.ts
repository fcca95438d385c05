/**
 * Keeps the cursors filled: one Fetch stream per leader, long polls, as much ahead as `maxBufferedBytes`
 * allows, every partition in turn. Invariants: a partition is in at most one request; an answer counts only for
 * the cursor version that asked; what a cursor has is never thrown away because its leader failed.
 * Called by the sessions; wakes the delivery.
 */
import { Deadline, partitionKey, sharedAbort, TributaryError, type Timer } from '@tributary/common';
import type { FetchResult } from '@tributary/protocol';
import { failoverBackoffMs } from '../metadata/failover-backoff';
import type { BrokerNode, ClientContext, PartitionView } from '../seams';
import { createdAgain, errorOf, reactionTo } from './fetch-failure';
import type { FetcherHooks, FetcherLimits } from './fetcher-host';
import { FetchStream, MAX_FETCHES_IN_FLIGHT } from './fetch-stream';
import type { PartitionCursor } from './partition-cursor';

/** Longest wait between two tries of a partition. */
export const MAX_PAUSE_MS = 1_000;

/** A request, a search for the leader or a look at the topic, for one cursor version. */
interface Errand {
  readonly version: number;
}

interface Tracked {
  readonly cursor: PartitionCursor;
  /** What is under way. One for an older cursor version no longer counts. */
  errand: Errand | undefined;
  /** The leader in the cache may be asked; false after a failure, until a search has confirmed one. */
  located: boolean;
  failures: number;
  notBefore: number;
  /** Looks out for the next leader during the pause after a failure. */
  forgetLeader: (() => void) | undefined;
}

interface Target {
  readonly tracked: Tracked;
  readonly view: PartitionView & { readonly leader: BrokerNode };
}

export class Fetcher {
  private readonly tracked = new Map<string, Tracked>();
  private readonly streams = new Map<string, FetchStream>();
  private reservedBytes = 0;
  private pumpAsked = false;
  private timer: Timer | undefined;
  private closed = false;
  private readonly stop = sharedAbort();

  constructor(
    private readonly context: ClientContext,
    private readonly limits: FetcherLimits,
    private readonly hooks: FetcherHooks,
  ) {}

  add(cursor: PartitionCursor): void {
    const fresh = { errand: undefined, located: true, failures: 0, notBefore: 0, forgetLeader: undefined }; // prettier-ignore
    this.tracked.set(cursor.key, { cursor, ...fresh });
    this.wake();
  }

  remove(cursor: PartitionCursor): void {
    const tracked = this.tracked.get(cursor.key);
    if (tracked?.cursor !== cursor) return;
    tracked.forgetLeader?.();
    this.tracked.delete(cursor.key);
    if (this.tracked.size === 0) this.closeStreams();
  }

  /** Something changed (room in the buffers, a seek, a resume): see what can be asked. */
  wake(): void {
    if (this.pumpAsked || this.closed) return;
    this.pumpAsked = true;
    queueMicrotask(() => {
      this.pumpAsked = false;
      if (!this.closed) this.pump();
    });
  }

  close(): void {
    this.closed = true;
    this.stop.abort();
    this.timer?.cancel();
    for (const { forgetLeader } of this.tracked.values()) forgetLeader?.();
    this.tracked.clear();
    this.closeStreams();
  }

  private closeStreams(): void {
    for (const stream of [...this.streams.values()]) stream.close();
  }

  private pump(): void {
    const now = this.context.clock.now();
    const byBroker = new Map<string, { broker: BrokerNode; targets: Target[] }>();
    let wakeAt = Infinity;
    for (const tracked of this.tracked.values()) {
      if (!this.wantsFetch(tracked)) continue;
      if (tracked.notBefore > now) {
        wakeAt = Math.min(wakeAt, tracked.notBefore);
        continue;
      }
      const view = this.leaderOf(tracked);
      if (!view) continue;
      const key = streamKey(view.leader);
      const entry = byBroker.get(key) ?? { broker: view.leader, targets: [] };
      byBroker.set(key, entry);
      entry.targets.push({ tracked, view });
    }
    for (const [key, { broker, targets }] of byBroker) this.ask(key, broker, targets);
    this.wakeLater(wakeAt, now);
  }

  private wantsFetch({ cursor, errand }: Tracked): boolean {
    return (
      cursor.position !== undefined &&
      errand?.version !== cursor.version &&
      !cursor.paused &&
      cursor.failure === undefined &&
      cursor.bufferedBytes < this.limits.maxPartitionBytes
    );
  }

  /** From the cache; where it does not know, a search begins and the pump runs again after it. */
  private leaderOf(tracked: Tracked): Target['view'] | undefined {
    const { topic, topicId, partition } = tracked.cursor.partition;
    const { metadata, clock, requestTimeoutMs } = this.context;
    if (tracked.located) {
      const cached = metadata.cached(topic);
      const view = cached?.topicId === topicId ? cached.partitions[partition] : undefined;
      if (view?.leader) return { ...view, leader: view.leader };
    }
    const errand = this.begin(tracked);
    const deadline = Deadline.after(clock, requestTimeoutMs, this.stop.signal);
    metadata.leader(topic, partition, deadline).then(
      (view) => {
        if (!this.end(tracked, errand)) return;
        const another = metadata.cached(topic)?.topicId !== topicId;
        if (another) return this.onFailure(tracked, view.leaderEpoch, createdAgain(topic));
        tracked.located = true; // the pump asks: where the stream is busy, all who wait share the next request
        this.wake();
      },
      (thrown: unknown) => {
        if (this.end(tracked, errand)) this.onFailure(tracked, -1, TributaryError.from(thrown));
      },
    );
    return undefined;
  }

  private ask(key: string, broker: BrokerNode, targets: readonly Target[]): void {
    let stream = this.streams.get(key);
    try {
      stream ??= this.openStream(key, broker);
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      for (const { tracked, view } of targets) this.onFailure(tracked, view.leaderEpoch, error);
      return;
    }
    if (!stream.ready) return; // its onReady wakes the pump
    const maxBytes = this.bytesOfOneRequest();
    if (!this.hasRoom(maxBytes)) {
      // What paused partitions hold must not starve the others: it can be fetched again.
      for (const { cursor } of this.tracked.values()) if (cursor.paused) cursor.dropAhead();
      if (!this.hasRoom(maxBytes)) return; // the reader makes room, and wakes the pump
    }
    this.send(stream, targets, maxBytes);
  }

  private hasRoom(maxBytes: number): boolean {
    let used = this.reservedBytes + maxBytes;
    for (const { cursor } of this.tracked.values()) used += cursor.bufferedBytes;
    return used <= this.limits.maxBufferedBytes;
  }

  /** So that all streams together stay within maxBufferedBytes, even when nothing comes for a while. */
  private bytesOfOneRequest(): number {
    const requests = Math.max(1, this.streams.size) * MAX_FETCHES_IN_FLIGHT;
    const share = Math.floor(this.limits.maxBufferedBytes / (requests + 1));
    return Math.max(1, Math.min(this.limits.maxBytes, share));
  }

  private send(stream: FetchStream, targets: readonly Target[], maxBytes: number): void {
    const asked = new Map<string, { target: Target; errand: Errand }>();
    for (const target of targets) {
      const { tracked } = target;
      const { key } = tracked.cursor;
      asked.set(key, { target, errand: this.begin(tracked) });
      // To the end of the line: the broker fills a request in its order.
      if (this.tracked.delete(key)) this.tracked.set(key, tracked);
    }
    const { maxWaitMs, minBytes, maxPartitionBytes } = this.limits;
    this.reservedBytes += maxBytes;
    const partitions = targets.map(({ tracked: { cursor }, view }) => ({
      ...cursor.partition,
      leaderEpoch: view.leaderEpoch,
      offset: cursor.fetchOffset,
      ...(cursor.fetchEpoch === undefined ? {} : { lastEpoch: cursor.fetchEpoch }),
      maxBytes: Math.min(maxPartitionBytes, maxBytes),
    }));
    stream.send(
      { maxWaitMs, minBytes, maxBytes, structured: false, partitions },
      {
        onResult: (result) => {
          const entry = asked.get(partitionKey(result.topicId, result.partition));
          if (entry && this.end(entry.target.tracked, entry.errand)) {
            this.onResult(entry.target, result);
          }
        },
        onEnd: (error) => {
          this.reservedBytes -= maxBytes;
          for (const { target, errand } of asked.values()) {
            const unanswered = this.end(target.tracked, errand);
            if (unanswered && error) this.onFailure(target.tracked, target.view.leaderEpoch, error);
          }
          this.wake();
        },
      },
    );
  }

  private onResult({ tracked, view }: Target, result: FetchResult): void {
    const { cursor } = tracked;
    if (result.error && result.error.code !== 'NONE') {
      this.onFailure(tracked, view.leaderEpoch, errorOf(result));
      return;
    }
    tracked.failures = 0;
    cursor.highWatermark = result.highWatermark;
    cursor.logStartOffset = result.logStartOffset;
    this.wake();
    if (result.batches.length === 0) return;
    try {
      cursor.append(result.batches);
    } catch (thrown) {
      this.onFailure(tracked, view.leaderEpoch, TributaryError.from(thrown));
    }
    this.hooks.onNews();
  }

  private onFailure(tracked: Tracked, leaderEpoch: number, error: TributaryError): void {
    const { cursor } = tracked;
    const { topic, partition } = cursor.partition;
    const { clock, random, metadata, logger } = this.context;
    if (this.closed) return;
    const { code } = error;
    const delayMs = failoverBackoffMs(tracked.failures, random, { maxMs: MAX_PAUSE_MS, code });
    tracked.notBefore = clock.now() + delayMs;
    tracked.failures += 1;
    tracked.located = false;
    tracked.forgetLeader?.();
    logger.debug('fetch failed', { topic, partition, code, error: error.message });
    switch (reactionTo(code)) {
      case 'again':
        break;
      case 'locate':
        if (leaderEpoch < 0) break;
        metadata.reportFailure(topic, partition, leaderEpoch, error);
        tracked.forgetLeader = metadata.onLeader({ topic, partition, leaderEpoch }, () => {
          tracked.notBefore = clock.now();
          this.wake();
        });
        break;
      case 'out of range':
      case 'truncated':
        tracked.failures = 0;
        if (code === 'LOG_TRUNCATED') this.hooks.onTruncated(cursor, error);
        else this.hooks.onOutOfRange(cursor, error);
        break;
      case 'look at topic':
        metadata.reportFailure(topic, partition, leaderEpoch, error);
        this.lookAtTopic(tracked);
        break;
      case 'tell':
        this.hooks.onTell(error);
        break;
    }
    this.wake();
  }

  private lookAtTopic(tracked: Tracked): void {
    const errand = this.begin(tracked);
    void this.hooks.onTopicSuspect(tracked.cursor).then((again) => {
      if (again && this.end(tracked, errand)) this.wake();
    });
  }

  private begin(tracked: Tracked): Errand {
    tracked.errand = { version: tracked.cursor.version };
    return tracked.errand;
  }

  /** False: it no longer counts (removed, or sought away meanwhile), or had ended before. */
  private end(tracked: Tracked, errand: Errand): boolean {
    const { cursor } = tracked;
    if (tracked.errand !== errand) return false;
    tracked.errand = undefined;
    if (this.closed || this.tracked.get(cursor.key) !== tracked) return false;
    return cursor.version === errand.version;
  }

  private openStream(key: string, broker: BrokerNode): FetchStream {
    const { clock, clientId, connections, requestTimeoutMs, logger } = this.context;
    const stream = new FetchStream(connections.to(broker), {
      clock,
      clientId,
      brokerId: broker.brokerId,
      timeoutMs: requestTimeoutMs,
      onReady: () => this.wake(),
      onClosed: (error) => {
        if (this.streams.get(key) === stream) this.streams.delete(key);
        if (this.closed) return;
        logger.debug('fetch stream closed', { brokerId: broker.brokerId, code: error.code });
        this.onStreamBroken(broker, error);
      },
    });
    this.streams.set(key, stream);
    return stream;
  }

  /** Those that waited for this stream without a request under way hear of it too, or they would dial for ever. */
  private onStreamBroken(broker: BrokerNode, error: TributaryError): void {
    for (const tracked of this.tracked.values()) {
      const { topic, partition } = tracked.cursor.partition;
      const view = this.context.metadata.cached(topic)?.partitions[partition];
      if (!this.wantsFetch(tracked) || view?.leader?.brokerId !== broker.brokerId) continue;
      if (tracked.notBefore <= this.context.clock.now()) {
        this.onFailure(tracked, view.leaderEpoch, error);
      }
    }
  }

  private wakeLater(at: number, now: number): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (at === Infinity) return;
    this.timer = this.context.clock.setTimer(Math.max(1, at - now), () => this.wake());
  }
}

function streamKey({ brokerId, address }: BrokerNode): string {
  return `${brokerId}@${address.host}:${address.port}`;
}
