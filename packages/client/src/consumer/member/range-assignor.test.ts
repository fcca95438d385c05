import type { GroupPartition } from '@tributary/coordination';
import { assignRanges, membersChanged, sameAssignment, subscribedTopics } from './range-assignor';

function partitions(topic: string, count: number): [string, GroupPartition[]] {
  const all = Array.from({ length: count }, (_, partition) => ({
    topic,
    topicId: `id-of-${topic}`,
    partition,
  }));
  return [topic, all];
}

function member(memberId: string, ...topics: string[]) {
  return { memberId, topics };
}

/** `t0-0 t0-1 ...` per member. */
function shown(
  members: ReturnType<typeof member>[],
  topics: [string, GroupPartition[]][],
): Record<string, string> {
  const assignment = assignRanges(members, new Map(topics));
  return Object.fromEntries(
    assignment.map((entry) => [
      entry.memberId,
      entry.partitions.map((p) => `${p.topic}-${p.partition}`).join(' '),
    ]),
  );
}

describe('the range assignor', () => {
  test("Kafka's example: two members, two topics of three partitions", () => {
    const members = [member('C0', 't0', 't1'), member('C1', 't0', 't1')];
    expect(shown(members, [partitions('t0', 3), partitions('t1', 3)])).toEqual({
      C0: 't0-0 t0-1 t1-0 t1-1',
      C1: 't0-2 t1-2',
    });
  });

  test('the order of members and topics in the input does not matter', () => {
    const members = [member('b', 't1', 't0'), member('a', 't0', 't1')];
    expect(shown(members, [partitions('t1', 1), partitions('t0', 4)])).toEqual({
      a: 't0-0 t0-1 t1-0',
      b: 't0-2 t0-3',
    });
  });

  test('a topic is shared by its subscribers alone', () => {
    const members = [member('a', 't0'), member('b', 't1'), member('c', 't0', 't1')];
    expect(shown(members, [partitions('t0', 3), partitions('t1', 2)])).toEqual({
      a: 't0-0 t0-1',
      b: 't1-0',
      c: 't0-2 t1-1',
    });
  });

  test('more members than partitions: the last ones are named with nothing', () => {
    const members = [member('a', 't'), member('b', 't'), member('c', 't')];
    expect(shown(members, [partitions('t', 2)])).toEqual({ a: 't-0', b: 't-1', c: '' });
  });

  test('a topic that does not exist gives nobody anything', () => {
    expect(shown([member('a', 'gone')], [])).toEqual({ a: '' });
  });

  test('every partition has exactly one owner, and shares differ by one at most', () => {
    for (let members = 1; members <= 7; members += 1) {
      for (let count = 0; count <= 20; count += 1) {
        const names = Array.from({ length: members }, (_, i) => member(`m${i}`, 't'));
        const given = assignRanges(names, new Map([partitions('t', count)]));
        const all = given.flatMap((entry) => entry.partitions.map((p) => p.partition));
        expect(all).toEqual(Array.from({ length: count }, (_, i) => i));
        const sizes = given.map((entry) => entry.partitions.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }
    }
  });

  test('assignments are compared without regard to order', () => {
    const [, [first, second]] = partitions('t', 2) as [string, [GroupPartition, GroupPartition]];
    const a = { memberId: 'a', partitions: [first, second] };
    const b = { memberId: 'b', partitions: [] };
    expect(sameAssignment([a, b], [b, { ...a, partitions: [second, first] }])).toBe(true);
    const renewed = { ...a, partitions: [first, { ...second, topicId: 'another' }] };
    expect(sameAssignment([a, b], [renewed, b])).toBe(false);
  });

  test('a view says when its assignment is of other members', () => {
    const view = (members: string[], assigned: string[], generation = 0) => ({
      members: members.map((memberId) => ({ ...describedMember, memberId })),
      assignment: assigned.map((memberId) => ({ memberId, partitions: [] })),
      generation,
      assignedBy: 'a',
    });
    expect(membersChanged(view(['a', 'b'], ['b', 'a']))).toBe(false);
    expect(membersChanged(view(['a', 'b'], ['a']))).toBe(true);
    expect(membersChanged(view(['a'], ['a', 'b']))).toBe(true);
    expect(membersChanged(view([], [], -1))).toBe(true);
    expect(subscribedTopics(view(['a', 'b'], []))).toEqual(['t']);
  });
});

const describedMember = { clientId: 'c', host: 'h', topics: ['t'], assignors: ['range'] };
