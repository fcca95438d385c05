/// <reference types="jest" />
/**
 * What every Coordinator does, ZooKeeper or embedded: one suite, run on both. A harness brings the clients and lets
 * time pass; everything else goes through the port.
 */
import type { TributaryError } from '@tributary/common';
import type { Coordinator, CoordinatorNode, SessionEvent } from '@tributary/coordination';

export interface CoordinatorHarness {
  /** A client that is ready. All clients of one harness share a tree of their own, empty at first. */
  connect(options?: { readonly sessionTimeoutMs?: number }): Promise<Coordinator>;
  /** Lets time pass until the condition holds; throws when it does not soon. */
  until(condition: () => boolean): Promise<void>;
  /** Ends what `connect` made. */
  close(): Promise<void>;
}

const bytes = (text: string): Buffer => Buffer.from(text);

export function describeCoordinatorContract(
  name: string,
  makeHarness: () => Promise<CoordinatorHarness>,
): void {
  describe(`coordinator contract: ${name}`, () => {
    let harness: CoordinatorHarness;
    let coordinator: Coordinator;

    beforeEach(async () => {
      harness = await makeHarness();
      coordinator = await harness.connect();
    });
    afterEach(() => harness.close());

    const failure = async (work: Promise<unknown>): Promise<TributaryError> => {
      try {
        await work;
      } catch (error) {
        return error as TributaryError;
      }
      throw new Error('did not fail');
    };

    describe('nodes', () => {
      test('a node is created at version 0 with its data, and read back', async () => {
        const created = await coordinator.create('/a', bytes('one'));
        expect(created.path).toBe('/a');
        expect(created.stat).toMatchObject({ version: 0, ephemeralOwner: undefined });
        expect(created.stat.czxid).toBeGreaterThan(0);
        const node = await coordinator.get('/a');
        expect(node?.data).toEqual(bytes('one'));
        expect(node?.stat).toEqual(created.stat);
      });

      test('empty data is empty, not missing', async () => {
        await coordinator.create('/empty', Buffer.alloc(0));
        expect((await coordinator.get('/empty'))?.data).toEqual(Buffer.alloc(0));
        await coordinator.set('/empty', Buffer.alloc(0), 0);
        expect((await coordinator.get('/empty'))?.data).toEqual(Buffer.alloc(0));
      });

      test('what does not exist is undefined, has no children and cannot be a parent', async () => {
        expect(await coordinator.get('/none')).toBeUndefined();
        expect(await coordinator.children('/none')).toBeUndefined();
        expect(await failure(coordinator.create('/none/child', bytes('')))).toMatchObject({
          code: 'NO_NODE',
          outcome: 'not written',
        });
        expect(await failure(coordinator.set('/none', bytes(''), undefined))).toMatchObject({
          code: 'NO_NODE',
        });
        expect(await failure(coordinator.remove('/none'))).toMatchObject({ code: 'NO_NODE' });
      });

      test('a name exists once', async () => {
        await coordinator.create('/a', bytes('one'));
        expect(await failure(coordinator.create('/a', bytes('two')))).toMatchObject({
          code: 'NODE_EXISTS',
          details: { path: '/a' },
        });
        expect((await coordinator.get('/a'))?.data).toEqual(bytes('one'));
      });

      test('children come sorted; a node with children is not removed', async () => {
        await coordinator.ensurePath('/p/q');
        for (const child of ['c', 'a', 'b']) await coordinator.create(`/p/${child}`, bytes(''));
        expect(await coordinator.children('/p')).toEqual(['a', 'b', 'c', 'q']);
        expect(await coordinator.children('/p/a')).toEqual([]);
        expect(await failure(coordinator.remove('/p'))).toMatchObject({ code: 'NOT_EMPTY' });
      });

      test('ensurePath makes what is missing and leaves what is there', async () => {
        await coordinator.create('/p', bytes('kept'));
        await coordinator.ensurePath('/p/q/r');
        await coordinator.ensurePath('/p/q/r');
        expect((await coordinator.get('/p'))?.data).toEqual(bytes('kept'));
        expect(await coordinator.children('/p/q')).toEqual(['r']);
      });

      test('a path that is none, and data over the limit, are refused before they are sent', async () => {
        for (const path of ['a', '', '/a/', '/a//b', '/a/../b']) {
          expect(await failure(coordinator.get(path))).toMatchObject({ code: 'INVALID_ARGUMENT' });
        }
        const big = Buffer.alloc(1_048_576);
        expect(await failure(coordinator.create('/big', big))).toMatchObject({
          code: 'INVALID_ARGUMENT',
          outcome: 'not written',
        });
        await coordinator.create('/large', Buffer.alloc(1_000_000, 7));
        expect((await coordinator.get('/large'))?.data.length).toBe(1_000_000);
      });
    });

    describe('versions', () => {
      test('each set is one higher; a stale one is refused', async () => {
        await coordinator.create('/v', bytes('0'));
        expect((await coordinator.set('/v', bytes('1'), 0)).version).toBe(1);
        expect((await coordinator.set('/v', bytes('2'), 1)).version).toBe(2);
        expect(await failure(coordinator.set('/v', bytes('x'), 1))).toMatchObject({
          code: 'BAD_VERSION',
          outcome: 'not written',
        });
        expect((await coordinator.set('/v', bytes('3'), undefined)).version).toBe(3);
        expect((await coordinator.get('/v'))?.data).toEqual(bytes('3'));
      });

      test('version 0 is checked like any other: in set, remove and each part of a multi', async () => {
        await coordinator.create('/v', bytes('0'));
        await coordinator.set('/v', bytes('1'), 0);
        await coordinator.create('/w', bytes('w'));
        const stale = [
          () => coordinator.set('/v', bytes('x'), 0),
          () => coordinator.remove('/v', 0),
          () => coordinator.multi([{ type: 'check', path: '/v', version: 0 }]),
          () => coordinator.multi([{ type: 'set', path: '/v', data: bytes('x'), version: 0 }]),
          () => coordinator.multi([{ type: 'remove', path: '/v', version: 0 }]),
        ];
        for (const attempt of stale) {
          expect(await failure(attempt())).toMatchObject({ code: 'BAD_VERSION' });
        }
        expect((await coordinator.get('/v'))?.data).toEqual(bytes('1'));
        // And where version 0 is right, it passes.
        await coordinator.multi([
          { type: 'check', path: '/w', version: 0 },
          { type: 'set', path: '/w', data: bytes('w1'), version: 0 },
        ]);
        expect((await coordinator.get('/w'))?.stat.version).toBe(1);
      });

      test('a node made again starts at version 0 with a higher czxid', async () => {
        const first = await coordinator.create('/v', bytes(''));
        await coordinator.set('/v', bytes('1'), 0);
        await coordinator.remove('/v', 1);
        const second = await coordinator.create('/v', bytes(''));
        expect(second.stat.version).toBe(0);
        expect(second.stat.czxid).toBeGreaterThan(first.stat.czxid);
      });

      test('of many compare-and-sets on one version exactly one wins', async () => {
        await coordinator.create('/v', bytes(''));
        const others = [coordinator, await harness.connect(), await harness.connect()];
        const attempts = others.flatMap((client, index) =>
          Array.from({ length: 5 }, (_, i) => client.set('/v', bytes(`${index}.${i}`), 0)),
        );
        const outcomes = await Promise.allSettled(attempts);
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await coordinator.get('/v'))?.stat.version).toBe(1);
      });
    });

    describe('multi', () => {
      test('does all, and answers the stat of each set', async () => {
        await coordinator.create('/m', bytes('0'));
        const results = await coordinator.multi([
          { type: 'create', path: '/m/a', data: bytes('a') },
          { type: 'create', path: '/m/a/b', data: bytes('b') },
          { type: 'set', path: '/m', data: bytes('1'), version: 0 },
          { type: 'create', path: '/m/e', data: bytes('e'), ephemeral: true },
        ]);
        expect(results).toHaveLength(4);
        expect(results[2]?.stat?.version).toBe(1);
        expect(await coordinator.children('/m')).toEqual(['a', 'e']);
        const ephemeral = await coordinator.get('/m/e');
        expect(ephemeral?.stat.ephemeralOwner).toBe(coordinator.sessionId);
        expect(await coordinator.multi([])).toEqual([]);
      });

      test('does nothing when one part is refused, and names the culprit', async () => {
        await coordinator.create('/m', bytes('0'));
        const error = await failure(
          coordinator.multi([
            { type: 'create', path: '/m/a', data: bytes('') },
            { type: 'set', path: '/m', data: bytes('1'), version: 7 },
            { type: 'remove', path: '/m/none', version: undefined },
          ]),
        );
        expect(error).toMatchObject({
          code: 'BAD_VERSION',
          outcome: 'not written',
          details: { path: '/m', index: 1 },
        });
        expect(await coordinator.children('/m')).toEqual([]);
        expect((await coordinator.get('/m'))?.stat.version).toBe(0);
        const codes = [
          { type: 'create', path: '/m', data: bytes('') } as const,
          { type: 'remove', path: '/none', version: undefined } as const,
        ].map(async (operation) => (await failure(coordinator.multi([operation]))).code);
        expect(await Promise.all(codes)).toEqual(['NODE_EXISTS', 'NO_NODE']);
      });

      test('is bounded in operations and bytes', async () => {
        const many = Array.from({ length: 501 }, () => ({ path: '/', version: 0 }));
        const checks = many.map((check) => ({ type: 'check', ...check }) as const);
        expect(await failure(coordinator.multi(checks))).toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
        const big = { type: 'create', path: '/b', data: Buffer.alloc(600_000) } as const;
        expect(await failure(coordinator.multi([big]))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      });
    });

    describe('ephemeral and sequential nodes', () => {
      test('an ephemeral goes with its session, at once when that closes', async () => {
        const other = await harness.connect();
        const { stat } = await other.create('/e', bytes('mine'), { ephemeral: true });
        expect(stat.ephemeralOwner).toBe(other.sessionId);
        await coordinator.barrier();
        expect((await coordinator.get('/e'))?.stat.ephemeralOwner).toBe(other.sessionId);
        await other.close();
        await coordinator.barrier();
        expect(await coordinator.get('/e')).toBeUndefined();
      });

      test('sequential names count up, in the order of creation, also after removals', async () => {
        await coordinator.ensurePath('/s');
        const paths: string[] = [];
        for (let i = 0; i < 3; i += 1) {
          const created = await coordinator.create('/s/n-', bytes(''), {
            sequential: true,
            ephemeral: true,
          });
          expect(created.path).toMatch(/^\/s\/[0-9a-f]{32}-n-[0-9]{10}$/);
          paths.push(created.path);
          if (i === 1) await coordinator.remove(created.path);
        }
        const counters = paths.map((path) => Number(path.slice(-10)));
        expect(counters).toEqual([...counters].sort((a, b) => a - b));
        expect(new Set(counters).size).toBe(3);
      });
    });

    describe('watches', () => {
      test('data: the value now, then each later state, the last one never missed', async () => {
        const other = await harness.connect();
        const seen: string[] = [];
        const watch = coordinator.watchData('/w', (node: CoordinatorNode | undefined) =>
          seen.push(node ? node.data.toString() : 'none'),
        );
        await harness.until(() => seen.length === 1);
        await other.create('/w', bytes('0'));
        await harness.until(() => seen.at(-1) === '0');
        for (let i = 1; i <= 20; i += 1) await other.set('/w', bytes(String(i)), undefined);
        await harness.until(() => seen.at(-1) === '20');
        await other.remove('/w');
        await harness.until(() => seen.at(-1) === 'none');
        watch.stop();
        const count = seen.length;
        await other.create('/w', bytes('again'));
        await other.barrier();
        expect(seen).toHaveLength(count);
        expect(seen.slice(0, 2)).toEqual(['none', '0']);
      });

      test('children: of a node that comes, goes and comes again', async () => {
        const other = await harness.connect();
        const seen: string[] = [];
        coordinator.watchChildren('/c', (names) => seen.push(names ? names.join() : 'none'));
        await harness.until(() => seen.at(-1) === 'none');
        await other.create('/c', bytes(''));
        await harness.until(() => seen.at(-1) === '');
        await other.create('/c/b', bytes(''));
        await other.create('/c/a', bytes(''));
        await harness.until(() => seen.at(-1) === 'a,b');
        await other.remove('/c/a');
        await other.remove('/c/b');
        await other.remove('/c');
        await harness.until(() => seen.at(-1) === 'none');
        await other.create('/c', bytes(''));
        await other.create('/c/z', bytes(''));
        await harness.until(() => seen.at(-1) === 'z');
      });

      test('many on one path share it; one that stops does not disturb the others', async () => {
        const seen = new Map<number, string>();
        const watches = Array.from({ length: 30 }, (_, i) =>
          coordinator.watchData('/w', (node) => seen.set(i, node?.data.toString() ?? 'none')),
        );
        await harness.until(() => seen.size === 30);
        for (const watch of watches.slice(0, 15)) watch.stop();
        await coordinator.create('/w', bytes('there'));
        await harness.until(() => seen.get(29) === 'there');
        expect([...seen.values()].filter((value) => value === 'there')).toHaveLength(15);
      });

      test('a callback that throws does not end the watch', async () => {
        let calls = 0;
        coordinator.watchData('/w', () => {
          calls += 1;
          throw new Error('in the callback');
        });
        await harness.until(() => calls === 1);
        await coordinator.create('/w', bytes(''));
        await harness.until(() => calls === 2);
      });
    });

    describe('sessions', () => {
      test('is connected, with an id, a timeout, a ticket and no silence', async () => {
        expect(coordinator.status).toBe('connected');
        expect(coordinator.sessionId).toMatch(/^[0-9a-f]{16}$/);
        expect(coordinator.sessionTimeoutMs).toBeGreaterThan(0);
        expect(coordinator.sessionTicket?.sessionId).toBe(coordinator.sessionId);
        expect(coordinator.silentForMs).toBeLessThan(coordinator.sessionTimeoutMs);
        await coordinator.ready(1_000);
      });

      test('an expired session is followed by a new one; watches go on, ephemerals are gone', async () => {
        const other = await harness.connect();
        const events: SessionEvent['type'][] = [];
        const seen: string[] = [];
        coordinator.onSession((event) => events.push(event.type));
        coordinator.watchData('/w', (node) => seen.push(node?.data.toString() ?? 'none'));
        await coordinator.create('/e', bytes(''), { ephemeral: true });
        const before = coordinator.sessionId;

        expect(await other.endSession(coordinator.sessionTicket!)).toBe(true);
        await harness.until(() => events.includes('opened'));
        expect(events.filter((event) => event !== 'suspended' && event !== 'resumed')).toEqual([
          'expired',
          'opened',
        ]);
        expect(coordinator.sessionId).not.toBe(before);
        await other.barrier();
        expect(await other.get('/e')).toBeUndefined();

        await other.create('/w', bytes('after'));
        await harness.until(() => seen.at(-1) === 'after');
        await coordinator.create('/e', bytes(''), { ephemeral: true });
      });

      test('ending a session that is over answers false', async () => {
        const other = await harness.connect();
        const ticket = other.sessionTicket!;
        await other.close();
        expect(await coordinator.endSession(ticket)).toBe(false);
      });

      test('a wrong password ends nothing', async () => {
        const other = await harness.connect();
        const { sessionId } = other.sessionTicket!;
        const forged = { sessionId, password: '00'.repeat(16) };
        expect(await coordinator.endSession(forged)).toBe(false);
        await other.create('/still', bytes(''), { ephemeral: true });
        expect(other.sessionId).toBe(sessionId);
      });

      test('after close every call is refused, and closing again does nothing', async () => {
        const other = await harness.connect();
        await other.close();
        await other.close();
        expect(other.status).toBe('closed');
        expect(await failure(other.get('/'))).toMatchObject({ code: 'CLOSED' });
        expect(await failure(other.create('/x', bytes('')))).toMatchObject({ code: 'CLOSED' });
        expect(await failure(other.ready(100))).toMatchObject({ code: 'CLOSED' });
      });

      test('hundreds of calls at once all answer', async () => {
        await coordinator.ensurePath('/t');
        const paths = Array.from({ length: 400 }, (_, i) => `/t/${i}`);
        await Promise.all(paths.map((path) => coordinator.create(path, bytes(path))));
        const nodes = await Promise.all(paths.map((path) => coordinator.get(path)));
        expect(nodes.map((node) => node?.data.toString())).toEqual(paths);
      });
    });
  });
}
