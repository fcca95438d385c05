/**
 * The public producer: records in, offsets out. Invariants: records of one partition are written in the order
 * of their sends, and, idempotent, none is lost or doubled by retries; memory is bounded by bufferBytes; every
 * send has its fate within deliveryTimeoutMs. Made by the client.
 */
import { Deadline, TributaryError, validateTopicName } from '@tributary/common';
import type { CallOptions, CloseOptions } from '../call-options';
import type { ClientContext, TopicView } from '../seams';
import { Admission, Send } from './admission';
import { BatchDeliveries, PromisedDelivery, type SendOutcome } from './deliveries';
import { Partitioner } from './partitioner';
import { ProducerCore } from './producer-core';
import {
  checkSize,
  encodeRecord,
  type EncodedRecord,
  type ProducerRecord,
  type RecordMetadata,
} from './producer-record';
import {
  checkProducerOptions,
  type ProducerConfig,
  type ProducerOptions,
} from './producer-options';
import type { Delivery } from './record-batch';
import { SendBudget } from './send-budget';
import { onceOnly, SendWatch, type SendOptions } from './send-watch';

/** How long a broker may take to end its side of an idle stream. */
const STREAM_END_MS = 500;

export class Producer<K = Uint8Array, V = Uint8Array> implements AsyncDisposable {
  private readonly config: ProducerConfig<K, V>;
  private readonly core: ProducerCore;
  private readonly admission: Admission;
  private readonly partitioner: Partitioner;
  private closed: Promise<void> | undefined;

  /** Use `client.producer`. Throws INVALID_CONFIG, or UNSUPPORTED_CODEC where the package of the codec is missing. */
  constructor(
    private readonly context: ClientContext,
    options: ProducerOptions<K, V>,
    private readonly onClosed: () => void = () => undefined,
  ) {
    this.config = checkProducerOptions(options);
    context.codecs.byName(this.config.codec).load();
    const budget = new SendBudget(this.config.bufferBytes);
    this.partitioner = new Partitioner(context.random);
    this.core = new ProducerCore(context, this.config, budget, this.partitioner);
    const { deliveryTimeoutMs } = this.config;
    this.admission = new Admission(context, budget, deliveryTimeoutMs, (view, send) =>
      this.append(view, send),
    );
  }

  /**
   * Resolves with the record's place once it is written as `acks` says. Rejects with a TributaryError whose
   * `outcome` says whether it is written all the same.
   */
  send(
    topic: string,
    record: ProducerRecord<K, V>,
    options: SendOptions = {},
  ): Promise<RecordMetadata> {
    return new Promise((resolve, reject) => {
      const delivery = new PromisedDelivery(topic, resolve, reject);
      if (!options.signal && options.timeoutMs === undefined) {
        const send = this.prepare(topic, record, delivery);
        if (send) this.admission.admit(send);
        return;
      }
      const watch = new SendWatch(this.context.clock, options);
      const send = this.prepare(
        topic,
        record,
        onceOnly(delivery, () => watch.settled()),
      );
      if (!send) return;
      watch.start([send]);
      if (!options.signal?.aborted) this.admission.admit(send);
    });
  }

  /** One outcome per record, in their order; never rejects for what befell a record. */
  async sendBatch(
    topic: string,
    records: readonly ProducerRecord<K, V>[],
    options: SendOptions = {},
  ): Promise<SendOutcome[]> {
    const deliveries = new BatchDeliveries(topic, records.length);
    const sends: Send[] = [];
    const watch =
      options.signal || options.timeoutMs !== undefined
        ? new SendWatch(this.context.clock, options)
        : undefined;
    records.forEach((record, index) => {
      const send = this.prepare(topic, record, deliveries.at(index));
      if (send) sends.push(send);
    });
    watch?.start(sends);
    for (const send of sends) if (send.stage === 'waiting') this.admission.admit(send);
    const outcomes = await deliveries.done;
    watch?.settled();
    return outcomes;
  }

  /** Resolves when every record sent before has its fate. Linger is over for them. */
  async flush(options: CallOptions = {}): Promise<void> {
    const { deliveryTimeoutMs } = this.config;
    const timeoutMs = options.timeoutMs ?? deliveryTimeoutMs + this.context.requestTimeoutMs;
    const deadline = Deadline.after(this.context.clock, timeoutMs, options.signal);
    await deadline.race(this.flushAll(), 'flushing the producer');
  }

  /** Flushes for at most `timeoutMs` (default 5000); what is left then fails. Idempotent. */
  close(options: CloseOptions = {}): Promise<void> {
    this.closed ??= this.closeAfterFlush(options.timeoutMs ?? 5_000);
    return this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** undefined: the delivery was told what is wrong. */
  private prepare(
    topic: string,
    record: ProducerRecord<K, V>,
    delivery: Delivery,
  ): Send | undefined {
    try {
      if (this.closed || this.context.closing.aborted) throw closedError();
      const { clock, metadata } = this.context;
      if (!metadata.cached(topic)) validateTopicName(topic);
      const encoded = encodeRecord(topic, record, this.config, clock.wallTime());
      return new Send(topic, encoded, delivery, clock.now());
    } catch (thrown) {
      delivery.failed(TributaryError.from(thrown).withOutcome('not written'));
      return undefined;
    }
  }

  private append(view: TopicView, send: Send & EncodedRecord): void {
    checkSize(view, send, this.config.codec !== 'none');
    const partition = this.partitioner.choose(view, send.record.key, send.partition);
    this.core.senderOf(view, partition).append(send);
  }

  private async flushAll(): Promise<void> {
    this.core.beginFlush();
    try {
      await this.admission.drained();
      await this.core.flush();
    } finally {
      this.core.endFlush();
    }
  }

  private async closeAfterFlush(timeoutMs: number): Promise<void> {
    const deadline = Deadline.after(this.context.clock, timeoutMs, this.context.closing);
    try {
      await deadline.race(this.flushAll(), 'flushing the producer');
    } catch {
      // What did not get through in time is told to its senders below.
    }
    this.admission.end(closedError());
    const ended = this.core.end(closedError());
    const patience = Deadline.after(this.context.clock, STREAM_END_MS);
    await patience.race(ended, 'ending the streams').catch(() => undefined); // the connections go anyway
    this.onClosed();
  }
}

function closedError(): TributaryError {
  return new TributaryError('CLOSED', 'the producer is closed', { outcome: 'not written' });
}
