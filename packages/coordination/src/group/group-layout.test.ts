import {
  decodeAssignment,
  decodeMember,
  decodeOffset,
  decodeOwner,
  encodeAssignment,
  encodeMember,
  encodeOffset,
  encodeOwner,
  groupPaths,
  memberIdOf,
} from './group-layout';

const token = '0123456789abcdef0123456789abcdef';

test('a member id sorts by the order of joining and leads back to its node', () => {
  const memberId = memberIdOf(`${token}-member-0000000012`);
  expect(memberId).toBe(`0000000012-${token}`);
  expect(groupPaths.member('g', memberId!)).toBe(`/consumers/g/ids/${token}-member-0000000012`);
  expect(memberIdOf('somebody-else')).toBeUndefined();
});

test('a member keeps the shape of the old consumer', () => {
  const member = { clientId: 'c', host: 'h', topics: ['a', 'b'], assignors: ['range'] };
  const data = encodeMember(member, 5);
  expect(JSON.parse(data.toString())).toMatchObject({
    version: 1,
    subscription: { a: 1, b: 1 },
    pattern: 'static',
    timestamp: '5',
  });
  expect(decodeMember('/p', 'm', data)).toEqual({ memberId: 'm', ...member });
});

test('an assignment groups partitions by topic and incarnation', () => {
  const at = (topic: string, topicId: string, partition: number) => ({ topic, topicId, partition });
  const partitions = [at('a', '1', 0), at('a', '1', 3), at('a', '2', 1), at('b', '1', 0)];
  const node = {
    assignedBy: 'm1',
    assignment: [
      { memberId: 'm1', partitions },
      { memberId: 'm2', partitions: [] },
    ],
  };
  expect(decodeAssignment('/p', encodeAssignment(node))).toEqual(node);
});

test('owner and offset', () => {
  for (const memberId of ['m1', undefined]) {
    const owner = { topicId: 'x', memberId, claim: 'c' };
    expect(decodeOwner('/p', encodeOwner(owner))).toEqual(owner);
  }
  const partition = { topic: 'a', topicId: 'x', partition: 2 };
  const commit = { partition, offset: 2 ** 40, leaderEpoch: -1, metadata: '' };
  expect(decodeOffset('/p', { topic: 'a', partition: 2 }, encodeOffset(commit, 7))).toEqual({
    ...commit,
    committedAt: 7,
  });
});
