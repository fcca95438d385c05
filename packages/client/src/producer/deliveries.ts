/**
 * Who is told what became of a record: the promise of `send`, or one entry of `sendBatch`. Called by batches
 * and by the admission.
 */
import type { TributaryError } from '@tributary/common';
import type { RecordMetadata } from './producer-record';
import type { Delivery } from './record-batch';

export type SendOutcome =
  | { readonly status: 'fulfilled'; readonly value: RecordMetadata }
  | { readonly status: 'rejected'; readonly reason: TributaryError };

export class PromisedDelivery implements Delivery {
  constructor(
    private readonly topic: string,
    private readonly resolve: (metadata: RecordMetadata) => void,
    private readonly reject: (error: TributaryError) => void,
  ) {}

  written(partition: number, offset: number, timestamp: number): void {
    this.resolve({ topic: this.topic, partition, offset: BigInt(offset), timestamp });
  }

  failed(error: TributaryError): void {
    this.reject(error);
  }
}

/** Collects the outcomes of a list of records without a promise for each. */
export class BatchDeliveries {
  readonly done: Promise<SendOutcome[]>;
  private readonly outcomes: SendOutcome[];
  private open: number;
  private resolve: (outcomes: SendOutcome[]) => void = () => undefined;

  constructor(
    private readonly topic: string,
    count: number,
  ) {
    this.open = count;
    this.outcomes = new Array<SendOutcome>(count);
    this.done = new Promise((resolve) => {
      this.resolve = resolve;
    });
    if (count === 0) this.resolve(this.outcomes);
  }

  at(index: number): Delivery {
    return {
      written: (partition, offset, timestamp) =>
        this.settle(index, {
          status: 'fulfilled',
          value: { topic: this.topic, partition, offset: BigInt(offset), timestamp },
        }),
      failed: (reason) => this.settle(index, { status: 'rejected', reason }),
    };
  }

  private settle(index: number, outcome: SendOutcome): void {
    if (this.outcomes[index]) return;
    this.outcomes[index] = outcome;
    this.open -= 1;
    if (this.open === 0) this.resolve(this.outcomes);
  }
}
