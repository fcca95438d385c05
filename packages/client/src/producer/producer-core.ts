/**
 * What the partitions of one producer share: links to brokers, producer identity, budget, flush. Invariant: one
 * live link per broker; a topic that was deleted and created again has senders of its own, and the old ones
 * fail what they hold. Called by the producer and by its partition senders.
 */
import { partitionKey, TributaryError } from '@tributary/common';
import type { BrokerNode, ClientContext, TopicView } from '../seams';
import { PartitionSender, topicReplaced, type SenderHost } from './partition-sender';
import type { Partitioner } from './partitioner';
import { ProduceLink } from './produce-link';
import type { ProduceItem } from './produce-request';
import { IdentityKeeper } from './producer-identity';
import { MAX_REQUEST_BYTES, type ProducerConfig } from './producer-options';
import { topicLimit } from './producer-record';
import type { BatchSettings } from './record-batch';
import type { SendBudget } from './send-budget';

/** Partitions that one producer writes to; each keeps its sequence for ever. */
export const MAX_PARTITION_SENDERS = 100_000;

type CoreConfig = Omit<ProducerConfig<unknown, unknown>, 'key' | 'value'>;

export class ProducerCore implements SenderHost {
  readonly identities: IdentityKeeper;
  readonly lingerMs: number;
  private readonly senders = new Map<string, PartitionSender>();
  /** The incarnation of each topic that is written to, as last seen. */
  private readonly views = new Map<string, TopicView>();
  private readonly links = new Map<number, { link: ProduceLink; address: string }>();
  private flushes = 0;

  constructor(
    readonly context: ClientContext,
    private readonly config: CoreConfig,
    private readonly budget: SendBudget,
    private readonly partitioner: Partitioner,
  ) {
    this.identities = new IdentityKeeper(context);
    this.lingerMs = config.lingerMs;
  }

  get flushing(): boolean {
    return this.flushes > 0;
  }

  senderOf(view: TopicView, partition: number): PartitionSender {
    const before = this.views.get(view.topic);
    if (before !== view) {
      this.views.set(view.topic, view);
      if (before && before.topicId !== view.topicId) this.dropTopic(before);
    }
    const key = partitionKey(view.topicId, partition);
    const known = this.senders.get(key);
    if (known) return known;
    if (this.senders.size >= MAX_PARTITION_SENDERS) {
      throw new TributaryError(
        'OVERLOADED',
        `this producer writes to ${MAX_PARTITION_SENDERS} partitions already`,
      );
    }
    const { idempotent, maxInFlight, deliveryTimeoutMs } = this.config;
    const sender = new PartitionSender(this, this.batchSettings(view), view.topicId, {
      topic: view.topic,
      partition,
      idempotent,
      maxInFlight,
      deliveryTimeoutMs,
    });
    this.senders.set(key, sender);
    return sender;
  }

  submit(broker: BrokerNode, item: ProduceItem): void {
    try {
      this.linkTo(broker).submit(item);
    } catch (thrown) {
      item.settle({ type: 'unsent', error: TributaryError.from(thrown) });
    }
  }

  release(bytes: number): void {
    this.budget.release(bytes);
  }

  batchCompleted(topic: string, partition: number): void {
    this.context.metadata.refreshIfOld(topic);
    const view = this.views.get(topic);
    if (view) this.partitioner.batchCompleted(view, partition);
  }

  beginFlush(): void {
    this.flushes += 1;
  }

  endFlush(): void {
    this.flushes -= 1;
  }

  /** Resolves when all that is in batches now has its fate. */
  async flush(): Promise<void> {
    await Promise.all([...this.senders.values()].flatMap((sender) => sender.flush()));
  }

  /** Everything that is left fails. Resolves when the streams are over. */
  async end(error: TributaryError): Promise<void> {
    for (const sender of this.senders.values()) sender.end(error);
    this.senders.clear();
    const links = [...this.links.values()];
    this.links.clear();
    await Promise.all(links.map(({ link }) => link.close()));
  }

  private batchSettings(view: TopicView): BatchSettings {
    const { codec, batchBytes } = this.config;
    const { codecs } = this.context;
    return { codec, codecs, batchBytes: Math.min(batchBytes, topicLimit(view)) };
  }

  private dropTopic(old: TopicView): void {
    this.partitioner.forget(old.topicId);
    for (const [key, sender] of this.senders) {
      if (sender.topicId !== old.topicId) continue;
      this.senders.delete(key);
      sender.end(topicReplaced(old.topic));
    }
  }

  private linkTo(broker: BrokerNode): ProduceLink {
    const { brokerId } = broker;
    const address = `${broker.address.host}:${broker.address.port}`;
    const known = this.links.get(brokerId);
    if (known && !known.link.closed && known.address === address) return known.link;
    void known?.link.close();
    const { clock, clientId, connections, requestTimeoutMs } = this.context;
    const settings = {
      clientId,
      brokerId,
      acks: this.config.acks,
      requestTimeoutMs,
      maxRequestBytes: MAX_REQUEST_BYTES,
    };
    const link: ProduceLink = new ProduceLink(clock, connections.to(broker), settings, () => {
      if (this.links.get(brokerId)?.link === link) this.links.delete(brokerId);
    });
    this.links.set(brokerId, { link, address });
    return link;
  }
}
