/**
 * Finds where a partition starts or ends (ListOffsets at its leader), for positions that nothing else gives.
 * Tries until it succeeds, the cursor moves on, or the consumer ends: with backoff, one call per broker for all
 * partitions that ask at the same time. Called by the sessions.
 */
import {
  backoffMs,
  Deadline,
  type ErrorCode,
  partitionKey,
  sharedAbort,
  sleep,
  TributaryError,
} from '@tributary/common';
import { fromWireError, methods, type ListOffsetsResult } from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';
import type { StartPosition } from './consumer-options';
import { reactionTo } from './fetch-failure';
import type { PartitionCursor } from './partition-cursor';

export interface LookupHooks {
  /** The offset was found and the cursor stands there. */
  onFound(cursor: PartitionCursor): void;
  /** Same as the fetcher's: true means try again. */
  onTopicSuspect(cursor: PartitionCursor): Promise<boolean>;
  onTell(error: TributaryError): void;
}

interface Wanted {
  readonly cursor: PartitionCursor;
  readonly spec: StartPosition;
  readonly version: number;
  leaderEpoch: number;
}

export class OffsetLookup {
  private collected: Wanted[] = [];
  private readonly stop = sharedAbort();

  constructor(
    private readonly context: ClientContext,
    private readonly hooks: LookupHooks,
  ) {}

  /** The cursor has no position until it is found. */
  find(cursor: PartitionCursor, spec: StartPosition): void {
    cursor.forgetPosition();
    if (this.collected.length === 0) queueMicrotask(() => this.run(this.collected.splice(0)));
    this.collected.push({ cursor, spec, version: cursor.version, leaderEpoch: -1 });
  }

  close(): void {
    this.stop.abort();
  }

  /** Those whose leader is known go together; the others must not hold them up. */
  private run(wanted: readonly Wanted[]): void {
    const byBroker = new Map<number, { broker: BrokerNode; wanted: Wanted[] }>();
    for (const one of wanted) {
      const { topic, topicId, partition } = one.cursor.partition;
      const view = this.context.metadata.cached(topic);
      const known = view?.topicId === topicId ? view.partitions[partition] : undefined;
      if (!known?.leader) {
        void this.retry(one, 0);
        continue;
      }
      one.leaderEpoch = known.leaderEpoch;
      const entry = byBroker.get(known.leader.brokerId) ?? { broker: known.leader, wanted: [] };
      byBroker.set(known.leader.brokerId, entry);
      entry.wanted.push(one);
    }
    for (const entry of byBroker.values()) {
      void this.askBroker(entry.broker, entry.wanted).then((again) => {
        for (const one of again) void this.retry(one, 1);
      });
    }
  }

  /** One partition, until it is found or no longer wanted. */
  private async retry(one: Wanted, attemptsBefore: number): Promise<void> {
    const { clock, random } = this.context;
    for (let attempt = attemptsBefore; stillWanted(one); attempt += 1) {
      try {
        if (attempt > 0) await sleep(clock, backoffMs(attempt - 1, random), this.stop.signal);
      } catch {
        return; // the consumer ends: nobody waits for it
      }
      if (!stillWanted(one)) return;
      try {
        const broker = await this.locate(one);
        if ((await this.askBroker(broker, [one])).length === 0) return;
      } catch (thrown) {
        if (!(await this.failed(one, TributaryError.from(thrown)))) return;
      }
    }
  }

  private async locate(one: Wanted): Promise<BrokerNode> {
    const { clock, requestTimeoutMs, metadata } = this.context;
    const { topic, topicId, partition } = one.cursor.partition;
    const deadline = Deadline.after(clock, requestTimeoutMs, this.stop.signal);
    const view = await metadata.leader(topic, partition, deadline);
    if (metadata.cached(topic)?.topicId !== topicId) {
      throw new TributaryError('TOPIC_ID_MISMATCH', `topic ${topic} was created again`);
    }
    one.leaderEpoch = view.leaderEpoch;
    return view.leader;
  }

  /** Answers those that have to be tried again. */
  private async askBroker(broker: BrokerNode, wanted: readonly Wanted[]): Promise<Wanted[]> {
    const { connections, requestTimeoutMs } = this.context;
    const again: Wanted[] = [];
    try {
      const response = await connections.to(broker).call(
        methods.broker.listOffsets,
        {
          partitions: wanted.map(({ cursor, spec, leaderEpoch }) => ({
            ...cursor.partition,
            leaderEpoch,
            spec: spec === 'earliest' ? ('EARLIEST' as const) : ('LATEST' as const),
            timestamp: 0,
          })),
        },
        { timeoutMs: requestTimeoutMs, signal: this.stop.signal },
      );
      const results = new Map(
        response.results.map((result) => [partitionKey(result.topicId, result.partition), result]),
      );
      for (const one of wanted) {
        const error = this.take(one, results.get(one.cursor.key));
        if (error && (await this.failed(one, error))) again.push(one);
      }
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      for (const one of wanted) if (await this.failed(one, error)) again.push(one);
    }
    return again;
  }

  private take(one: Wanted, result: ListOffsetsResult | undefined): TributaryError | undefined {
    if (!stillWanted(one)) return undefined;
    if (!result) return failure('INTERNAL', 'the broker did not answer for a partition');
    if (result.error && result.error.code !== 'NONE') return fromWireError(result.error);
    if (result.offset < 0) return failure('OFFSET_NOT_AVAILABLE', 'the broker knows no offset yet');
    one.cursor.seek(result.offset);
    this.hooks.onFound(one.cursor);
    return undefined;
  }

  /** True: try again. */
  private async failed(one: Wanted, error: TributaryError): Promise<boolean> {
    if (this.stop.signal.aborted || !stillWanted(one)) return false;
    const { topic, partition } = one.cursor.partition;
    const { metadata, logger } = this.context;
    logger.debug('offset lookup failed', { topic, partition, code: error.code });
    const reaction = reactionTo(error.code);
    if (reaction === 'tell') this.hooks.onTell(error);
    if (reaction === 'locate' || reaction === 'look at topic') {
      metadata.reportFailure(topic, partition, one.leaderEpoch, error);
    }
    if (reaction === 'look at topic') return this.hooks.onTopicSuspect(one.cursor);
    return true;
  }
}

/** A seek or the end of the assignment makes the answer useless. */
function stillWanted({ cursor, version }: Wanted): boolean {
  return !cursor.retired && cursor.version === version;
}

function failure(code: ErrorCode, message: string): TributaryError {
  return new TributaryError(code, message);
}
