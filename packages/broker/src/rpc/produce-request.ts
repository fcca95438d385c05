/**
 * One produce request: appends its entries in order at once, then answers each as it is known. Invariant: every
 * entry gets exactly one result, and the one with `last` closes the request; results that are known in the
 * same tick share a message. A bad entry fails itself alone. Called by stream and unary handler.
 */
import { TributaryError } from '@tributary/common';
import {
  toWireError,
  type ProducePartition,
  type ProduceRequest,
  type ProduceResultInput,
} from '@tributary/protocol';
import type { Caller, DataHost } from './data-host';
import { appendEntry, type Appended } from './produce-append';

export type Respond = (results: ProduceResultInput[], last: boolean) => void;

/** @param respond is called at least once, the last time with `last`; for acks 0, too. */
export function produce(
  host: DataHost,
  request: ProduceRequest,
  caller: Caller,
  respond: Respond,
): void {
  const answer = new ProduceAnswer(request.partitions.length, respond);
  const problem = requestProblem(host, request);
  for (const entry of request.partitions) {
    if (problem) answer.refuse(entry, problem);
    else produceEntry(host, request, { entry, caller, answer });
  }
  answer.flush();
}

/** The whole request, unread: the broker has no room for it. */
export function refuseAll(request: ProduceRequest, error: TributaryError, respond: Respond): void {
  const answer = new ProduceAnswer(request.partitions.length, respond);
  for (const entry of request.partitions) answer.refuse(entry, error);
  answer.flush();
}

/** What counts against credits: the batches, or the records' keys, values and headers. */
export function requestBytes(request: ProduceRequest): number {
  let bytes = 0;
  for (const { batch, records } of request.partitions) {
    bytes += batch?.length ?? 0;
    for (const record of records?.records ?? []) {
      bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0);
      for (const { key, value } of record.headers) bytes += key.length + (value?.length ?? 0);
    }
  }
  return bytes;
}

function requestProblem(host: DataHost, request: ProduceRequest): TributaryError | undefined {
  const { acks, partitions } = request;
  const outcome = 'not written';
  if (acks !== -1 && acks !== 0 && acks !== 1) {
    return new TributaryError('INVALID_ARGUMENT', `acks ${acks} is not 0, 1 or -1`, { outcome });
  }
  const { maxPartitionsPerRequest } = host.limits;
  if (partitions.length > maxPartitionsPerRequest) {
    const message = `a request may name ${maxPartitionsPerRequest} partitions, not ${partitions.length}`;
    return new TributaryError('INVALID_ARGUMENT', message, { outcome });
  }
  return undefined;
}

interface EntryContext {
  readonly entry: ProducePartition;
  readonly caller: Caller;
  readonly answer: ProduceAnswer;
}

function produceEntry(host: DataHost, request: ProduceRequest, context: EntryContext): void {
  const { entry, caller, answer } = context;
  let appended: Appended;
  try {
    appended = appendEntry(host, entry, request.acks, caller);
  } catch (error) {
    return answer.refuse(entry, TributaryError.from(error));
  }
  if (request.acks === 0) return answer.accept(entry, appended);
  const { partition, endOffset: offset } = appended;
  const { maxProduceTimeoutMs, defaultProduceTimeoutMs } = host.limits;
  const timeoutMs = Math.min(request.timeoutMs || defaultProduceTimeoutMs, maxProduceTimeoutMs);
  const done = (error: TributaryError | undefined): void => {
    if (!error) return answer.accept(entry, appended);
    const leader = host.leaderHint(partition, caller.listener);
    const { code, message, outcome } = error;
    answer.refuse(entry, new TributaryError(code, message, { outcome, leader }));
  };
  partition.awaitAck(request.acks, { offset, timeoutMs, done });
}

class ProduceAnswer {
  private results: ProduceResultInput[] = [];
  private flushScheduled = false;
  private closed = false;

  constructor(
    private missing: number,
    private readonly respond: Respond,
  ) {}

  accept(entry: ProducePartition, { partition, baseOffset, duplicate }: Appended): void {
    const logStartOffset = partition.log.logStartOffset;
    this.add(entry, { topicId: partition.topicId, baseOffset, logStartOffset, duplicate });
  }

  refuse(entry: ProducePartition, error: TributaryError): void {
    this.add(entry, { topicId: entry.topicId, baseOffset: -1, error: toWireError(error) });
  }

  private add(entry: ProducePartition, result: ProduceResultInput): void {
    const { topic, partition } = entry;
    this.results.push({ topic, partition, ...result });
    this.missing -= 1;
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    queueMicrotask(() => this.flush());
  }

  flush(): void {
    this.flushScheduled = false;
    if (this.results.length === 0 && this.missing > 0) return;
    if (this.closed) return;
    const results = this.results;
    this.results = [];
    this.closed = this.missing === 0;
    this.respond(results, this.closed);
  }
}
