/// <reference types="jest" />
/**
 * What every GroupStore does: on a coordinator, or through group.proto of a broker. The harness brings stores that die
 * independently of each other.
 */
import type { TributaryError } from '@tributary/common';
import type {
  GroupMembership,
  GroupPartition,
  GroupStore,
  MemberDescription,
} from '@tributary/coordination';

export interface GroupStoreHarness {
  /** A store with a session (or connection) of its own, of one cluster per harness. */
  store(): Promise<GroupStore>;
  /** Its process dies without leaving; resolves when its members' leases have run out. */
  kill(store: GroupStore): Promise<void>;
  /** Lets time pass until the condition holds; throws when it does not soon. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const leaseMs = 2_000;
const group = 'billing';

function member(name: string): MemberDescription {
  return { clientId: name, host: '10.0.0.1', topics: ['orders'], assignors: ['range', 'sticky'] };
}

function partition(number: number, topicId = 'id-of-orders-00000001'): GroupPartition {
  return { topic: 'orders', topicId, partition: number };
}

function commitOf(number: number, offset: number, topicId?: string) {
  return {
    partition: partition(number, topicId),
    offset,
    leaderEpoch: 3,
    metadata: `at ${offset}`,
  };
}

export function describeGroupStoreContract(
  name: string,
  makeHarness: () => Promise<GroupStoreHarness>,
): void {
  describe(`group store contract: ${name}`, () => {
    let harness: GroupStoreHarness;
    let store: GroupStore;

    beforeEach(async () => {
      harness = await makeHarness();
      store = await harness.store();
    });
    afterEach(() => harness.close());

    const join = (name_: string, through: GroupStore = store): Promise<GroupMembership> =>
      through.join(group, member(name_), { leaseMs });

    const failure = async (work: Promise<unknown>): Promise<TributaryError> => {
      try {
        await work;
      } catch (error) {
        return error as TributaryError;
      }
      throw new Error('did not fail');
    };

    /** The generation after the member was given these partitions. */
    const assign = async (to: GroupMembership, numbers: number[]): Promise<number> => {
      const { generation } = await to.read();
      const partitions = numbers.map((number) => partition(number));
      return to.assign(generation, [{ memberId: to.memberId, partitions }]);
    };

    describe('membership', () => {
      test('members are seen by all, in the order of joining, as they described themselves', async () => {
        const first = await join('a');
        const second = await join('b', await harness.store());
        const view = await second.read();
        expect(view).toMatchObject({ generation: -1, assignment: [], assignedBy: undefined });
        expect(view.members).toEqual([
          { memberId: first.memberId, ...member('a') },
          { memberId: second.memberId, ...member('b') },
        ]);
        expect(first.memberId < second.memberId).toBe(true);
      });

      test('who leaves is gone at once, and the others hear of it; leaving again does nothing', async () => {
        const stays = await join('a');
        const leaves = await join('b', await harness.store());
        let changes = 0;
        stays.onChange(() => (changes += 1));
        let lost = 0;
        leaves.onLost(() => (lost += 1));
        await leaves.leave();
        await leaves.leave();
        await harness.until(() => changes > 0);
        expect((await stays.read()).members.map((each) => each.clientId)).toEqual(['a']);
        expect(lost).toBe(0);
        expect(await failure(leaves.claim(partition(0), 0))).toMatchObject({
          code: 'UNKNOWN_MEMBER',
        });
      });

      test('who dies is gone after its lease, and the others hear of it', async () => {
        const stays = await join('a');
        const dying = await harness.store();
        await join('b', dying);
        let changes = 0;
        stays.onChange(() => (changes += 1));
        await harness.kill(dying);
        await harness.until(() => changes > 0);
        expect((await stays.read()).members.map((each) => each.clientId)).toEqual(['a']);
      });

      test('an aborted join is refused, and nobody has joined', async () => {
        const signal = AbortSignal.abort();
        const attempt = store.join(group, member('a'), { leaseMs, signal });
        expect(await failure(attempt)).toMatchObject({ code: 'CANCELLED' });
        expect((await store.describe(group)).view.members).toEqual([]);
      });

      test('a group name that is none is refused', async () => {
        for (const wrong of ['', '..', 'a/b', 'x'.repeat(250)]) {
          expect(await failure(store.join(wrong, member('a'), { leaseMs }))).toMatchObject({
            code: 'INVALID_ARGUMENT',
          });
        }
      });
    });

    describe('assignment', () => {
      test('is written by compare-and-set on the generation; the stale writer is refused', async () => {
        const first = await join('a');
        const second = await join('b', await harness.store());
        const assignment = [
          { memberId: first.memberId, partitions: [partition(0), partition(2)] },
          { memberId: second.memberId, partitions: [partition(1)] },
        ];
        expect(await first.assign(-1, assignment)).toBe(0);
        expect(await second.read()).toMatchObject({
          generation: 0,
          assignment,
          assignedBy: first.memberId,
        });
        expect(await failure(second.assign(-1, assignment))).toMatchObject({
          code: 'STALE_GENERATION',
        });
        expect(await second.assign(0, assignment)).toBe(1);
        // Generation 0 is checked like any other.
        expect(await failure(first.assign(0, assignment))).toMatchObject({
          code: 'STALE_GENERATION',
        });
        expect((await first.read()).assignedBy).toBe(second.memberId);
      });

      test('everybody hears of it', async () => {
        const first = await join('a');
        const second = await join('b', await harness.store());
        let changes = 0;
        second.onChange(() => (changes += 1));
        await assign(first, [0]);
        await harness.until(() => changes > 0);
        expect((await second.read()).generation).toBe(0);
      });
    });

    describe('ownership', () => {
      test('a claim needs the current generation', async () => {
        const a = await join('a');
        expect(await failure(a.claim(partition(0), -1))).toMatchObject({
          code: 'STALE_GENERATION',
        });
        await assign(a, [0]);
        await assign(a, [0, 1]);
        expect(await failure(a.claim(partition(0), 0))).toMatchObject({ code: 'STALE_GENERATION' });
        expect(await a.claim(partition(0), 1)).toMatchObject({ committed: undefined });
      });

      test('while one owns it another one is refused and told whose it is; after the release it gets it', async () => {
        const a = await join('a');
        const b = await join('b', await harness.store());
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        const next = await assign(b, [0]);
        expect(await failure(b.claim(partition(0), next))).toMatchObject({
          code: 'FENCED_OWNER',
          details: { owner: a.memberId },
        });
        let changes = 0;
        b.onChange(() => (changes += 1));
        await a.release(partition(0), ownerEpoch);
        await harness.until(() => changes > 0);
        const later = await b.claim(partition(0), next);
        expect(later.ownerEpoch).toBeGreaterThan(ownerEpoch);
      });

      test('a dead member does not keep its partitions', async () => {
        const dying = await harness.store();
        const a = await join('a', dying);
        const b = await join('b');
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        const next = await assign(b, [0]);
        await harness.kill(dying);
        const taken = await b.claim(partition(0), next);
        expect(taken.ownerEpoch).toBeGreaterThan(ownerEpoch);
      });

      test('of two that claim the same partition at once exactly one gets it', async () => {
        const a = await join('a');
        const b = await join('b', await harness.store());
        const generation = await assign(a, [0]);
        const claims = [a, b].map((each) => each.claim(partition(0), generation));
        const outcomes = await Promise.allSettled(claims);
        expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      });

      test('a claim finds what the former owner committed last', async () => {
        const a = await join('a');
        const b = await join('b', await harness.store());
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        expect(await a.commit([{ ...commitOf(0, 41), ownerEpoch }])).toEqual([undefined]);
        expect(await a.commit([{ ...commitOf(0, 42), ownerEpoch }])).toEqual([undefined]);
        await a.release(partition(0), ownerEpoch);
        const { committed } = await b.claim(partition(0), generation);
        expect(committed).toMatchObject(commitOf(0, 42));
      });

      test('the owner of another incarnation of the topic counts as nobody', async () => {
        const a = await join('a');
        const b = await join('b', await harness.store());
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        await a.commit([{ ...commitOf(0, 7), ownerEpoch }]);
        const again = partition(0, 'id-of-orders-00000002');
        expect(await b.claim(again, generation)).toMatchObject({ committed: undefined });
        // And from then on the old incarnation's owner is fenced.
        const [refusal] = await a.commit([{ ...commitOf(0, 8), ownerEpoch }]);
        expect(refusal).toMatchObject({ code: 'FENCED_OWNER' });
      });
    });

    describe('commits', () => {
      test('the former owner is refused after a takeover, at owner epoch 0 too', async () => {
        const dying = await harness.store();
        const a = await join('a', dying);
        const b = await join('b');
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        expect(await a.commit([{ ...commitOf(0, 10), ownerEpoch }])).toEqual([undefined]);
        await a.release(partition(0), ownerEpoch);
        const later = await b.claim(partition(0), generation);
        const [refusal] = await a.commit([{ ...commitOf(0, 99), ownerEpoch }]);
        expect(refusal).toMatchObject({ code: 'FENCED_OWNER' });
        expect(await failure(a.release(partition(0), ownerEpoch))).toMatchObject({
          code: 'FENCED_OWNER',
        });
        const mine = { ...commitOf(0, 11), ownerEpoch: later.ownerEpoch };
        expect(await b.commit([mine])).toEqual([undefined]);
        expect(await store.fetchOffsets(group, [partition(0)])).toMatchObject([commitOf(0, 11)]);
      });

      test('one fenced partition does not hold up the others', async () => {
        const a = await join('a');
        const generation = await assign(a, [0, 1, 2]);
        const owned = [];
        for (const number of [0, 1, 2]) owned.push(await a.claim(partition(number), generation));
        await a.release(partition(1), owned[1]!.ownerEpoch);
        const commits = owned.map(({ ownerEpoch }, index) => ({
          ...commitOf(index, 100 + index),
          ownerEpoch,
        }));
        const answers = await a.commit(commits);
        expect(answers.map((answer) => (answer as TributaryError | undefined)?.code)).toEqual([
          undefined,
          'FENCED_OWNER',
          undefined,
        ]);
        const offsets = await store.fetchOffsets(group);
        expect(offsets.map((each) => [each.partition.partition, each.offset])).toEqual([
          [0, 100],
          [2, 102],
        ]);
      });

      test('a rebalance fences nobody whose partitions stay', async () => {
        const a = await join('a');
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        const b = await join('b', await harness.store());
        await assign(b, [1]);
        expect(await a.commit([{ ...commitOf(0, 5), ownerEpoch }])).toEqual([undefined]);
      });

      test('many commits at once end with the last one', async () => {
        const a = await join('a');
        const generation = await assign(a, [0]);
        const { ownerEpoch } = await a.claim(partition(0), generation);
        const offsets = Array.from({ length: 20 }, (_, index) => index + 1);
        await Promise.all(
          offsets.map((offset) => a.commit([{ ...commitOf(0, offset), ownerEpoch }])),
        );
        expect(await store.fetchOffsets(group, [partition(0)])).toMatchObject([{ offset: 20 }]);
      });

      test('without membership: refused while there is a living owner, done otherwise', async () => {
        const dying = await harness.store();
        const a = await join('a', dying);
        const generation = await assign(a, [0]);
        await a.claim(partition(0), generation);
        const commits = [commitOf(1, 1), commitOf(0, 1)];
        expect(await failure(store.commitOffsets(group, commits))).toMatchObject({
          code: 'FENCED_OWNER',
        });
        expect(await store.fetchOffsets(group)).toEqual([]);
        await harness.kill(dying);
        await store.commitOffsets(group, commits);
        await store.commitOffsets(group, [commitOf(1, 17)]);
        expect(await store.fetchOffsets(group)).toMatchObject([commitOf(0, 1), commitOf(1, 17)]);
      });

      test('offsets of another incarnation of the topic are left out', async () => {
        await store.commitOffsets(group, [commitOf(0, 5), commitOf(1, 6)]);
        const now = [partition(0), partition(1, 'id-of-orders-00000002'), partition(9)];
        expect(await store.fetchOffsets(group, now)).toMatchObject([commitOf(0, 5)]);
      });
    });

    test('a group is listed and described: members, assignment, owners, offsets', async () => {
      const a = await join('a');
      const generation = await assign(a, [0, 1]);
      const { ownerEpoch } = await a.claim(partition(0), generation);
      await a.commit([{ ...commitOf(0, 3), ownerEpoch }]);
      expect(await store.list()).toEqual([group]);
      const description = await store.describe(group);
      expect(description.view.members).toEqual([{ memberId: a.memberId, ...member('a') }]);
      expect(description.view.generation).toBe(0);
      expect(description.owners).toEqual([
        { partition: partition(0), memberId: a.memberId, ownerEpoch },
      ]);
      expect(description.offsets).toMatchObject([commitOf(0, 3)]);
      expect(description.offsets[0]!.committedAt).toBeGreaterThan(1_600_000_000_000);
      expect(await store.describe('nobody')).toMatchObject({ view: { members: [] }, offsets: [] });
    });
  });
}
