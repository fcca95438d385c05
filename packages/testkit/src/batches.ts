/** Batches for tests, as a producer would have built them. Called by the log's tests and by whoever needs bytes. */
import { assignOffsetAndEpoch, BatchBuilder, type CodecName } from '@tributary/record';

export interface TestBatch {
  /** One record each. Default: one record 'v'. */
  readonly values?: readonly string[];
  /** Of the first record; each later one is 1 ms younger. Default 1000. */
  readonly timestamp?: number;
  /** Default: none. */
  readonly producer?: readonly [producerId: number, producerEpoch: number, baseSequence: number];
  readonly codec?: CodecName;
  /** As a leader would have stamped it. Default 0. */
  readonly baseOffset?: number;
  readonly leaderEpoch?: number;
}

export function makeBatch(options: TestBatch = {}): Buffer {
  const { values = ['v'], timestamp = 1000, codec = 'none' } = options;
  const [producerId, producerEpoch, baseSequence] = options.producer ?? [-1, -1, -1];
  const builder = new BatchBuilder({ codec, initialBytes: 256 });
  values.forEach((value, i) => {
    builder.append({
      key: null,
      value: Buffer.from(value),
      headers: [],
      timestamp: timestamp + i,
    });
  });
  const batch = builder.build({ producerId, producerEpoch, baseSequence });
  assignOffsetAndEpoch(batch, options.baseOffset ?? 0, options.leaderEpoch ?? -1);
  return batch;
}
