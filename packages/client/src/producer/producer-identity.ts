/**
 * The producer id and epoch of one producer. Invariant: the identity that is given out is never older than one
 * given before; one request to a broker at a time. Called by the partition senders.
 */
import { Deadline, TributaryError } from '@tributary/common';
import { methods } from '@tributary/protocol';
import type { ClientContext } from '../seams';
import type { ProducerIdentity, SpentIdentity } from './sender/sender-state';

/** Brokers asked before a sender is told to pause. */
const ATTEMPTS = 3;
/** The batch header has 16 bits for it. */
export const MAX_PRODUCER_EPOCH = 32_767;

export class IdentityKeeper {
  private current: ProducerIdentity | undefined;
  private asking: Promise<ProducerIdentity> | undefined;

  constructor(private readonly context: ClientContext) {}

  /** One that is newer than `replaces`. Rejects with a retriable error when no broker gives one now. */
  obtain(replaces: SpentIdentity | undefined): Promise<ProducerIdentity> {
    const { current } = this;
    if (current && (!replaces || isNewer(current, replaces))) return Promise.resolve(current);
    this.asking ??= this.ask(replaces).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async ask(replaces: SpentIdentity | undefined): Promise<ProducerIdentity> {
    const { clock, closing, requestTimeoutMs } = this.context;
    const deadline = Deadline.after(clock, requestTimeoutMs, closing);
    let failure: TributaryError | undefined;
    for (let attempt = 0; attempt < ATTEMPTS && !deadline.expired; attempt += 1) {
      try {
        this.current = await this.askOne(replaces, attempt, deadline);
        return this.current;
      } catch (thrown) {
        failure = TributaryError.from(thrown);
        if (!failure.retriable) throw failure;
      }
    }
    throw failure ?? new TributaryError('TIMEOUT', 'no broker gave a producer id in time');
  }

  private async askOne(
    replaces: SpentIdentity | undefined,
    attempt: number,
    deadline: Deadline,
  ): Promise<ProducerIdentity> {
    const broker = await this.context.metadata.anyBroker(attempt, deadline);
    const bump = replaces && !replaces.fresh && replaces.producerEpoch < MAX_PRODUCER_EPOCH;
    const { producerId, producerEpoch } = await this.context.connections
      .to(broker)
      .call(
        methods.broker.initProducer,
        bump
          ? { producerId: replaces.producerId, producerEpoch: replaces.producerEpoch }
          : { producerEpoch: -1 },
        {
          timeoutMs: Math.max(1, deadline.remainingMs / 2),
          ...(deadline.signal ? { signal: deadline.signal } : {}),
        },
      );
    const granted = { producerId, producerEpoch };
    if (replaces && !isNewer(granted, replaces)) {
      throw new TributaryError(
        'INVALID_PRODUCER_EPOCH',
        `broker ${broker.brokerId} gave producer ${producerId} epoch ${producerEpoch}, which is not new`,
      );
    }
    return granted;
  }
}

function isNewer(one: ProducerIdentity, other: ProducerIdentity): boolean {
  return one.producerId !== other.producerId || one.producerEpoch > other.producerEpoch;
}
