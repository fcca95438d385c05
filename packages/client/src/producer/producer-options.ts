/**
 * The settings of a producer and what it takes and gives. Checked completely when the producer is made. Called
 * by the client.
 */
import { CODEC_NAMES, type CodecName } from '@tributary/record';
import { Problems } from '../config-problems';
import { bytes, type Serde } from '../serde/serde';
import { MAX_IN_FLIGHT } from './sender/sender-state';

/** What a request may weigh; above 1 MiB nothing is gained. */
export const MAX_REQUEST_BYTES = 1024 * 1024;

export type Acks = 'all' | 'leader' | 'none';

export interface ProducerOptions<K = Uint8Array, V = Uint8Array> {
  /** How keys become bytes. Default: they are bytes. */
  readonly key?: Serde<K>;
  readonly value?: Serde<V>;
  /** When a record counts as written: by all in-sync replicas (default), by the leader, or once it is sent. */
  readonly acks?: Acks;
  /** A retry neither doubles nor reorders. Needs acks `all`. Default: true with acks `all`. */
  readonly idempotent?: boolean;
  /** How long a batch waits for more records. Default 5. */
  readonly lingerMs?: number;
  /** Size at which a batch is complete. Default 262144. */
  readonly batchBytes?: number;
  /** What the producer may hold; beyond it `send` waits. Default 33554432. */
  readonly bufferBytes?: number;
  /** How batches are compressed. Default `none`. `snappy`, `lz4` and `zstd` need an npm package each (zstd: or Node 22.15). */
  readonly codec?: CodecName;
  /** From `send` to the fate of the record. Default 120000. */
  readonly deliveryTimeoutMs?: number;
  /** Batches in flight per partition. Default 5; not idempotent, only 1 keeps the order over retries. */
  readonly maxInFlight?: number;
}

export interface ProducerConfig<K, V> {
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  readonly acks: -1 | 0 | 1;
  readonly idempotent: boolean;
  readonly lingerMs: number;
  readonly batchBytes: number;
  readonly bufferBytes: number;
  readonly codec: CodecName;
  readonly deliveryTimeoutMs: number;
  readonly maxInFlight: number;
}

const KNOWN = new Set<string>([
  'key',
  'value',
  'acks',
  'idempotent',
  'lingerMs',
  'batchBytes',
  'bufferBytes',
  'codec',
  'deliveryTimeoutMs',
  'maxInFlight',
] satisfies (keyof ProducerOptions)[]);

const wireAcks = { all: -1, leader: 1, none: 0 } as const;

/** Throws INVALID_CONFIG listing every problem. */
export function checkProducerOptions<K, V>(options: ProducerOptions<K, V>): ProducerConfig<K, V> {
  const problems = new Problems();
  problems.unknownSettings(options, KNOWN);
  problems.oneOf('acks', options.acks, Object.keys(wireAcks));
  problems.oneOf('codec', options.codec, CODEC_NAMES);
  problems.flag('idempotent', options.idempotent);
  problems.milliseconds('lingerMs', options.lingerMs, 0);
  problems.milliseconds('deliveryTimeoutMs', options.deliveryTimeoutMs);
  problems.wholeNumber('batchBytes', options.batchBytes, { min: 1024, max: MAX_REQUEST_BYTES });
  problems.wholeNumber('bufferBytes', options.bufferBytes, { min: 1024, max: 2 ** 40 });
  problems.wholeNumber('maxInFlight', options.maxInFlight, { min: 1, max: MAX_IN_FLIGHT });
  const acks = options.acks ?? 'all';
  if (options.idempotent === true && acks !== 'all') {
    problems.add(`idempotent=true needs acks=all, not ${acks}`);
  }
  problems.throwIfAny('the producer');
  // Without a serde K and V are what their defaults say, bytes.
  const raw: unknown = bytes();
  return {
    key: options.key ?? (raw as Serde<K>),
    value: options.value ?? (raw as Serde<V>),
    acks: wireAcks[acks],
    idempotent: options.idempotent ?? acks === 'all',
    lingerMs: options.lingerMs ?? 5,
    batchBytes: options.batchBytes ?? 256 * 1024,
    bufferBytes: options.bufferBytes ?? 32 * 1024 * 1024,
    codec: options.codec ?? 'none',
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? 120_000,
    maxInFlight: options.maxInFlight ?? MAX_IN_FLIGHT,
  };
}
