/** Topics and groups that cannot be, each with the refusal that it deserves. */
import type { ErrorCode } from '@tributary/common';
import type { CreateTopicRequestInput, MemberUpInput } from '@tributary/protocol';

interface Bad<Request> {
  readonly what: string;
  readonly request: Request;
  readonly code: ErrorCode;
  readonly says: RegExp;
}

export const badTopicNames: readonly string[] = [
  '',
  '.',
  '..',
  'a/b',
  '../topics/control',
  'control/partitions',
  'two words',
  'two\nlines',
  'naïve',
  '\u0000',
  'x'.repeat(250),
];

export const badGroupNames: readonly string[] = [
  '',
  '..',
  'a/b',
  'two words',
  'two\nlines',
  'ü',
  'x'.repeat(250),
];

/** Of a topic called `impossible`. */
// prettier-ignore
export const badTopics: readonly Bad<CreateTopicRequestInput>[] = [
  { what: 'a negative count of partitions', request: { partitions: -1 }, code: 'INVALID_PARTITIONS', says: /-1 partitions, where 1 to \d+ are possible/ },
  { what: 'a huge count of partitions', request: { partitions: 2 ** 31 - 1 }, code: 'INVALID_PARTITIONS', says: /2147483647 partitions/ },
  { what: 'more replicas than brokers', request: { replicationFactor: 4 }, code: 'INVALID_REPLICATION_FACTOR', says: /replication factor 4 with 3 brokers/ },
  { what: 'a negative replication factor', request: { replicationFactor: -1 }, code: 'INVALID_REPLICATION_FACTOR', says: /replication factor -1/ },
  { what: 'a setting that does not exist', request: { configs: { 'cleanup.polizei': 'x' } }, code: 'INVALID_CONFIG', says: /setting cleanup.polizei does not exist/ },
  { what: 'a setting that every object has', request: { configs: { constructor: '1' } }, code: 'INVALID_CONFIG', says: /setting constructor does not exist/ },
  { what: 'a setting that is no number', request: { configs: { 'segment.bytes': 'much' } }, code: 'INVALID_CONFIG', says: /segment.bytes=much is not a whole number from/ },
  { what: 'a setting below its least', request: { configs: { 'max.message.bytes': '1' } }, code: 'INVALID_CONFIG', says: /max.message.bytes=1 is not a whole number from 100/ },
  { what: 'a setting beyond all numbers', request: { configs: { 'max.message.bytes': '9'.repeat(40) } }, code: 'INVALID_CONFIG', says: /is not a whole number/ },
  { what: 'a huge setting of two lines', request: { configs: { 'segment.bytes': `1\n${'9'.repeat(10_000)}` } }, code: 'INVALID_CONFIG', says: /is not a whole number/ },
  { what: 'more in-sync replicas than replicas', request: { replicationFactor: 2, configs: { 'min.insync.replicas': '3' } }, code: 'INVALID_CONFIG', says: /min.insync.replicas=3 with replication factor 2/ },
  { what: 'a topic that exists', request: { topic: 'control' }, code: 'TOPIC_EXISTS', says: /topic control already exists/ },
];

const group = 'readers';
const partition = { topic: 'control', topicId: 'AAAAAAAAAAAAAAAAAAAAAA', partition: 0 };

/** As the second message of a member, after hello. */
// prettier-ignore
export const badJoins: readonly Bad<MemberUpInput>[] = [
  { what: 'nothing', request: {}, code: 'INVALID_ARGUMENT', says: /hello comes first, then join/ },
  { what: 'a call before join', request: { call: { callId: 1, read: {} } }, code: 'INVALID_ARGUMENT', says: /hello comes first, then join/ },
  { what: 'a group name that is a path', request: { join: { group: 'a/../b' } }, code: 'INVALID_ARGUMENT', says: /group name "a\/..\/b"/ },
  { what: 'a topic name that is a path', request: { join: { group, topics: ['a/b'] } }, code: 'INVALID_TOPIC', says: /topic name "a\/b"/ },
  { what: 'a member that is not known', request: { join: { group, resumeMemberId: 'a\nb' } }, code: 'UNKNOWN_MEMBER', says: /member a b is not known here/ },
];

/** As a call of a member; each is answered, and the membership goes on. */
// prettier-ignore
export const badMemberCalls: readonly Bad<NonNullable<MemberUpInput['call']>>[] = [
  { what: 'an empty call', request: {}, code: 'INVALID_ARGUMENT', says: /call/ },
  { what: 'a claim of nothing', request: { claim: { generation: 0 } }, code: 'INVALID_ARGUMENT', says: /partition is missing/ },
  { what: 'a claim of a partition below 0', request: { claim: { partition: { ...partition, partition: -1 } } }, code: 'INVALID_ARGUMENT', says: /-1 is not a partition of topic control/ },
  { what: 'a claim of a later generation', request: { claim: { partition, generation: 99 } }, code: 'STALE_GENERATION', says: /generation/ },
  { what: 'a release of what it does not own', request: { release: { partition, ownerEpoch: 5 } }, code: 'FENCED_OWNER', says: /own/ },
  { what: 'an assignment of paths', request: { assign: { assignment: [{ memberId: 'm', partitions: [{ ...partition, topic: '../x' }] }] } }, code: 'INVALID_TOPIC', says: /topic name "..\/x"/ },
  { what: 'a commit below 0', request: { commit: { offsets: [{ partition, offset: -3 }] } }, code: 'INVALID_ARGUMENT', says: /-3 is not an offset/ },
];
