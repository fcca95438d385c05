/**
 * A record as callers give it, and as it is encoded. Everything that can be wrong with it is found here, before
 * anything is queued. Called by the producer.
 */
import { TributaryError } from '@tributary/common';
import {
  BATCH_HEADER_BYTES,
  MAX_FUTURE_MS,
  MAX_TIMESTAMP,
  recordSizeBound,
  type RecordHeader,
  type RecordInput,
} from '@tributary/record';
import type { TopicView } from '../seams';
import { asBuffer, serializeField } from '../serde/serde';
import { MAX_REQUEST_BYTES, type ProducerConfig } from './producer-options';

/** No topic can be set to take more. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024;

export type HeaderValue = Uint8Array | string | null;
/** In order, duplicates allowed; or a plain object. Texts are encoded in UTF-8. */
export type HeadersInput = Iterable<readonly [string, HeaderValue]> | Record<string, HeaderValue>;

export interface ProducerRecord<K = Uint8Array, V = Uint8Array> {
  /** Absent or null: no key. Records of one key go to one partition, in order. */
  readonly key?: K | null;
  /** null: a tombstone. */
  readonly value: V | null;
  readonly headers?: HeadersInput;
  /** Default: by key, else the sticky one. */
  readonly partition?: number;
  /** Milliseconds since the epoch. Default: now. */
  readonly timestamp?: number;
}

export interface RecordMetadata {
  readonly topic: string;
  readonly partition: number;
  /** -1n with acks `none`. */
  readonly offset: bigint;
  readonly timestamp: number;
}

export interface EncodedRecord {
  readonly record: RecordInput;
  readonly partition: number | undefined;
  /** Upper bound of what it takes in a batch. */
  readonly bytes: number;
}

/** Throws INVALID_ARGUMENT, INVALID_TIMESTAMP, RECORD_TOO_LARGE: all 'not written'. */
export function encodeRecord<K, V>(
  topic: string,
  input: ProducerRecord<K, V>,
  config: ProducerConfig<K, V>,
  now: number,
): EncodedRecord {
  if (typeof input !== 'object' || input === null) throw invalid(`a record is an object`);
  const key = serializeField(config.key, input.key, { topic, field: 'key' });
  const value = serializeField(config.value, input.value, { topic, field: 'value' });
  const headers = input.headers === undefined ? [] : encodeHeaders(input.headers);
  const timestamp = input.timestamp ?? now;
  checkTimestamp(timestamp, now);
  const bytes = recordSizeBound(key, value, headers);
  const encoded = { record: { key, value, headers, timestamp }, partition: input.partition, bytes };
  if (bytes > MAX_RECORD_BYTES) throw tooLarge(topic, bytes, MAX_RECORD_BYTES);
  return encoded;
}

/** Largest batch that the topic takes, as far as its settings say. */
export function topicLimit(view: TopicView): number {
  const configured = Number(view.configs['max.message.bytes']);
  return configured > 0 ? configured : MAX_REQUEST_BYTES;
}

/** Throws RECORD_TOO_LARGE. Compression may bring a record below the limit: then only the broker can tell. */
export function checkSize(view: TopicView, encoded: EncodedRecord, compressed: boolean): void {
  const limit = compressed ? MAX_RECORD_BYTES : topicLimit(view);
  const { bytes, record } = encoded;
  const slack = BOUND_SLACK_BYTES + record.headers.length * HEADER_SLACK_BYTES;
  if (BATCH_HEADER_BYTES + bytes - slack > limit) throw tooLarge(view.topic, bytes, limit);
}

/** By how much recordSizeBound may exceed the encoded size: only what certainly does not fit is refused here. */
const BOUND_SLACK_BYTES = 29;
const HEADER_SLACK_BYTES = 8;

function tooLarge(topic: string, bytes: number, limit: number): TributaryError {
  return new TributaryError(
    'RECORD_TOO_LARGE',
    `a record of ${bytes} bytes for topic ${topic} is over the limit of ${limit} bytes`,
    { outcome: 'not written', details: { topic, bytes, limit } },
  );
}

/** A broker would refuse the whole batch for one such record: the others in it must not suffer. */
function checkTimestamp(timestamp: number, now: number): void {
  if (!(Number.isInteger(timestamp) && timestamp >= 0 && timestamp <= MAX_TIMESTAMP)) {
    throw invalidTimestamp(
      `timestamp ${timestamp} is not a count of milliseconds from 0 to ${MAX_TIMESTAMP}`,
    );
  }
  if (timestamp > now + MAX_FUTURE_MS) {
    throw invalidTimestamp(
      `timestamp ${timestamp} is more than ${MAX_FUTURE_MS} ms ahead of this machine's clock`,
    );
  }
}

function invalidTimestamp(message: string): TributaryError {
  return new TributaryError('INVALID_TIMESTAMP', message, { outcome: 'not written' });
}

function encodeHeaders(headers: HeadersInput): RecordHeader[] {
  const entries = isIterable(headers) ? headers : Object.entries(headers);
  const encoded: RecordHeader[] = [];
  for (const [key, value] of entries) {
    if (typeof key !== 'string') throw invalid('a header has no text as its key');
    encoded.push({ key, value: headerValue(key, value) });
  }
  return encoded;
}

function headerValue(key: string, value: HeaderValue): Buffer | null {
  if (value === null) return null;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (value instanceof Uint8Array) return asBuffer(value);
  throw invalid(`header ${key} is neither bytes, nor text, nor null`);
}

function isIterable(headers: HeadersInput): headers is Iterable<readonly [string, HeaderValue]> {
  return Symbol.iterator in headers;
}

function invalid(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { outcome: 'not written' });
}
