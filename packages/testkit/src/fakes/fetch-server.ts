/** The broker's side of one fetch stream of a FetchCluster: long polls, per-partition refusals. */
import { TributaryError, type Clock, type Timer } from '@tributary/common';
import {
  toWireError,
  type FetchDownInput,
  type FetchPartition,
  type FetchRequest,
  type FetchResultInput,
  type FetchUp,
  type MessageStream,
} from '@tributary/protocol';
import type { FetchedLog } from './fetched-log';

export interface FetchAttempt {
  readonly broker: number;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** What the stream wants of its cluster. */
export interface FetchHost {
  readonly clock: Clock;
  readonly attempts: FetchAttempt[];
  readonly silent: ReadonlySet<number>;
  refuse(attempt: FetchAttempt): TributaryError | undefined;
  /** Throws what a broker answers. */
  ledLog(brokerId: number, asked: FetchPartition): FetchedLog;
}

interface Answer {
  readonly results: FetchResultInput[];
  readonly bytes: number;
  readonly failed: boolean;
}

export class FetchServer {
  private closed = false;
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly cluster: FetchHost,
    private readonly brokerId: number,
    private readonly stream: MessageStream<FetchDownInput, FetchUp>,
  ) {}

  fetch(request: FetchRequest): void {
    for (const { topic, partition, offset } of request.partitions) {
      this.cluster.attempts.push({ broker: this.brokerId, topic, partition, offset });
    }
    if (this.cluster.silent.has(this.brokerId)) return;
    let answered = false;
    const attempt = (last: boolean): void => {
      if (answered || this.closed) return;
      const answer = this.read(request);
      const enough = answer.failed || answer.bytes >= Math.max(1, request.minBytes);
      if (!enough && !last) return this.waitForChange(request, () => attempt(false));
      answered = true;
      this.timers.delete(timer);
      timer.cancel();
      const { correlationId } = request;
      const response = { correlationId, results: answer.results, last: true };
      this.stream.send({ body: 'response', response });
    };
    const timer = this.cluster.clock.setTimer(request.maxWaitMs, () => attempt(true));
    this.timers.add(timer);
    attempt(false);
  }

  close(): void {
    this.closed = true;
    for (const timer of this.timers) timer.cancel();
  }

  private read(request: FetchRequest): Answer {
    let left = request.maxBytes;
    let failed = false;
    const results = request.partitions.map((asked) => {
      const { topic, topicId, partition } = asked;
      try {
        const refusal = this.cluster.refuse({ broker: this.brokerId, ...asked });
        if (refusal) throw refusal;
        const log = this.cluster.ledLog(this.brokerId, asked);
        const parting =
          asked.lastEpoch === undefined ? undefined : log.divergence(asked.offset, asked.lastEpoch);
        if (parting) {
          failed = true;
          const error = toWireError(new TributaryError('LOG_TRUNCATED', 'it is another log now'));
          return { topic, topicId, partition, error, divergingOffset: parting.offset };
        }
        const batches = left > 0 ? log.read(asked.offset, Math.min(left, asked.maxBytes)) : Buffer.alloc(0); // prettier-ignore
        left -= batches.length;
        const { start: logStartOffset, end: highWatermark } = log;
        return { topic, topicId, partition, highWatermark, logStartOffset, batches };
      } catch (thrown) {
        failed = true;
        return { topic, topicId, partition, error: toWireError(thrown) };
      }
    });
    return { results, bytes: request.maxBytes - left, failed };
  }

  private waitForChange(request: FetchRequest, then: () => void): void {
    let told = false;
    const once = (): void => {
      if (!told) this.cluster.clock.setTimer(0, then);
      told = true;
    };
    for (const asked of request.partitions) this.logOf(asked)?.onChange(once);
  }

  private logOf(asked: FetchPartition): FetchedLog | undefined {
    try {
      return this.cluster.ledLog(this.brokerId, asked);
    } catch {
      return undefined; // refused at the next look
    }
  }
}
