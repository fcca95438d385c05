/** Entries of produce and fetch requests that name what is not there, each with the refusal that it deserves. */
import type { ErrorCode } from '@tributary/common';
import type { ProducePartitionInput } from '@tributary/protocol';
import { makeBatch } from '@tributary/testkit';
import type { Place } from './bad-input-cluster';

export interface BadEntry<Entry = Partial<Place>> {
  readonly what: string;
  /** What is wrong with it; the rest is right. */
  readonly entry: Entry;
  readonly code: ErrorCode;
  readonly says: RegExp;
}

const uuid = 'AAAAAAAAAAAAAAAAAAAAAA';

/** Of any request to a leader. The topic is called `target`, has 6 partitions, and its leader is in epoch 1 or later. */
// prettier-ignore
export const badPlaces: readonly BadEntry[] = [
  { what: 'an unknown topic', entry: { topic: 'nowhere', topicId: uuid }, code: 'UNKNOWN_TOPIC', says: /topic nowhere is not known here/ },
  { what: 'no topic', entry: { topic: '', topicId: uuid }, code: 'UNKNOWN_TOPIC', says: /topic "" is not known here/ },
  { what: 'a topic name that is no name', entry: { topic: '../../etc\npasswd', topicId: uuid }, code: 'UNKNOWN_TOPIC', says: /topic ..*etc.npasswd. is not known here/ },
  { what: 'a huge topic name', entry: { topic: 'x'.repeat(100_000), topicId: uuid }, code: 'UNKNOWN_TOPIC', says: /topic .x{60}.... is not known here/ },
  { what: 'the topic id of another topic', entry: { topicId: uuid }, code: 'TOPIC_ID_MISMATCH', says: /topic target has id .*, not AAAA/ },
  { what: 'a negative partition', entry: { partition: -1 }, code: 'UNKNOWN_PARTITION', says: /topic target has no partition -1/ },
  { what: 'the partition after the last', entry: { partition: 6 }, code: 'UNKNOWN_PARTITION', says: /topic target has no partition 6/ },
  { what: 'the largest partition there is', entry: { partition: 2 ** 31 - 1 }, code: 'UNKNOWN_PARTITION', says: /no partition 2147483647/ },
  { what: 'an old leader epoch', entry: { leaderEpoch: 0 }, code: 'FENCED_LEADER_EPOCH', says: /leader epoch 0 of target-\d is over, \d is now/ },
  { what: 'a leader epoch that does not exist yet', entry: { leaderEpoch: 99 }, code: 'UNKNOWN_LEADER_EPOCH', says: /leader epoch 99 of target-\d is not known here/ },
];

const record = (value: Buffer | undefined, more = {}) => ({
  key: Buffer.from('k'),
  value,
  ...more,
});
const structured = (records: readonly object[], producer = {}): Partial<ProducePartitionInput> => ({
  records: { records: [...records], ...producer },
});
const small = Buffer.from('v');

/** Instead of the one good batch. */
// prettier-ignore
export const badPayloads: readonly BadEntry<Partial<ProducePartitionInput>>[] = [
  { what: 'neither batch nor records', entry: {}, code: 'INVALID_ARGUMENT', says: /no batch and no records for target-\d/ },
  { what: 'an empty list of records', entry: structured([]), code: 'INVALID_ARGUMENT', says: /list of records is empty/ },
  { what: 'a structured record over the limit', entry: structured([record(Buffer.alloc(1_048_600))]), code: 'RECORD_TOO_LARGE', says: /about 10486\d\d bytes, 1048576 may be sent unencoded/ },
  { what: 'structured records that are too many bytes together', entry: structured([record(Buffer.alloc(600_000)), record(Buffer.alloc(600_000))]), code: 'BATCH_TOO_LARGE', says: /1048576 may be sent unencoded/ },
  { what: 'structured records with huge headers', entry: structured([record(small, { headers: [{ key: 'h'.repeat(1_100_000) }] })]), code: 'RECORD_TOO_LARGE', says: /1048576 may be sent unencoded/ },
  { what: 'a structured record from before the epoch', entry: structured([record(small, { timestamp: -77 })]), code: 'INVALID_TIMESTAMP', says: /timestamp -77/ },
  { what: 'a structured record of the far future', entry: structured([record(small, { timestamp: Date.now() + 10 ** 9 })]), code: 'INVALID_TIMESTAMP', says: /ahead of the broker's clock/ },
  { what: 'a structured record of no possible time', entry: structured([record(small, { timestamp: 2 ** 53 - 1 })]), code: 'INVALID_TIMESTAMP', says: /9007199254740991/ },
  { what: 'a producer id with an epoch that does not fit', entry: structured([record(small)], { producerId: 1, producerEpoch: 70_000, baseSequence: 0 }), code: 'INVALID_ARGUMENT', says: /producer epoch 70000 is not from 0 to 32767/ },
  { what: 'a producer id that is negative', entry: structured([record(small)], { producerId: -7, producerEpoch: 0, baseSequence: 0 }), code: 'INVALID_BATCH', says: /producer id -7, epoch 0/ },
  { what: 'a sequence of a producer that never began', entry: { batch: makeBatch({ producer: [4711, 0, 9] }) }, code: 'UNKNOWN_PRODUCER_ID', says: /4711/ },
  { what: 'an offset that is not the next', entry: { batch: makeBatch(), expectedOffset: 1_000_000 }, code: 'UNEXPECTED_OFFSET', says: /1000000/ },
  { what: 'a negative expected offset', entry: { batch: makeBatch(), expectedOffset: -4 }, code: 'UNEXPECTED_OFFSET', says: /-4/ },
];

// prettier-ignore
export const badOffsets: readonly BadEntry<{ offset: number }>[] = [
  { what: 'a negative offset', entry: { offset: -1 }, code: 'OFFSET_OUT_OF_RANGE', says: /target-\d: offset -1 is not between 0 and \d+/ },
  { what: 'the smallest offset there is', entry: { offset: -(2 ** 53 - 1) }, code: 'OFFSET_OUT_OF_RANGE', says: /is not between 0 and/ },
  { what: 'an offset beyond the end', entry: { offset: 100_000 }, code: 'OFFSET_OUT_OF_RANGE', says: /offset 100000 is not between 0 and \d+/ },
  { what: 'the largest offset there is', entry: { offset: 2 ** 53 - 1 }, code: 'OFFSET_OUT_OF_RANGE', says: /is not between 0 and/ },
];
