/**
 * InitProducer: a producer id that nobody else has, or the next epoch of one. Ids come from blocks that this
 * broker takes from the coordinator; the rest of a block is lost with the process, which is fine.
 */
import { TributaryError } from '@tributary/common';
import type { ProducerIdBlocks } from '@tributary/coordination';
import {
  methods,
  unaryHandler,
  type Handler,
  type InitProducerRequest,
  type InitProducerResponseInput,
} from '@tributary/protocol';

/** Epochs are 16-bit in a batch; the largest is kept free, as in Kafka. */
export const maxProducerEpoch = 32_766;

export class ProducerIds {
  private nextId = 0;
  private left = 0;
  private fetching: Promise<void> | undefined;

  constructor(
    private readonly blocks: ProducerIdBlocks,
    private readonly brokerId: number,
  ) {}

  get handler(): Handler {
    return unaryHandler(methods.broker.initProducer, (request) => this.init(request));
  }

  async init(request: InitProducerRequest): Promise<InitProducerResponseInput> {
    const { producerId, producerEpoch } = request;
    if (producerId === undefined) return { producerId: await this.take(), producerEpoch: 0 };
    if (producerId < 0 || producerEpoch < 0 || producerEpoch > maxProducerEpoch + 1) {
      const message = `producer ${producerId} in epoch ${producerEpoch} cannot exist`;
      throw new TributaryError('INVALID_ARGUMENT', message);
    }
    // The epochs of this id are used up: the producer goes on with another one.
    if (producerEpoch >= maxProducerEpoch)
      return { producerId: await this.take(), producerEpoch: 0 };
    return { producerId, producerEpoch: producerEpoch + 1 };
  }

  private async take(): Promise<number> {
    while (this.left === 0) {
      this.fetching ??= this.fetch();
      await this.fetching;
    }
    const id = this.nextId;
    this.nextId += 1;
    this.left -= 1;
    return id;
  }

  /** One at a time, however many wait for it. */
  private async fetch(): Promise<void> {
    try {
      const { first, size } = await this.blocks.next(this.brokerId);
      this.nextId = first;
      this.left = size;
    } finally {
      this.fetching = undefined;
    }
  }
}
