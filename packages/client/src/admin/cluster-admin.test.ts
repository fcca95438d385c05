import { seededRandom, TributaryError } from '@tributary/common';
import { toWireError } from '@tributary/protocol';
import { ScriptedCluster, SimulatedClock, type AdminCall } from '@tributary/testkit';
import { createClient } from '..';

/** Three brokers whose controller answers as `script` says, by the name of the method. */
async function world(script: Record<string, (call: AdminCall) => object | Promise<object>> = {}) {
  const clock = new SimulatedClock();
  const cluster = new ScriptedCluster(clock);
  const transport = await cluster.start();
  const calls: AdminCall[] = [];
  cluster.adminScript = (call) => {
    calls.push(call);
    const answer = script[call.method];
    if (!answer) throw new Error(`no script for ${call.method}`);
    return answer(call);
  };
  const client = createClient({
    ...{ brokers: cluster.bootstrap, transport, clock, random: seededRandom(3) },
  });
  const done = <T>(work: Promise<T>, ms = 20_000): Promise<T> => clock.settleWithin(work, ms);
  return { clock, cluster, calls, admin: client.admin(), done };
}

const orders0 = { topic: 'orders', topicId: 'orders-id', partition: 0 };
const lost = new TributaryError('UNAVAILABLE', 'the broker died');
const silence = (): Promise<object> => new Promise(() => undefined);

describe('alterTopic', () => {
  const altered = { topic: 'orders', topicId: 'x', configs: { flush: 'sync' }, partitions: 6 };

  test('sends what shall be, answers what is', async () => {
    const { admin, calls, done } = await world({ AlterTopic: () => altered });
    const alteration = { setConfigs: { flush: 'sync' }, removeConfigs: ['retention.ms'], partitions: 6, newAssignments: [[1, 2]] }; // prettier-ignore
    expect(await done(admin.alterTopic('orders', alteration, { timeoutMs: 9_000 }))).toEqual(altered); // prettier-ignore
    expect(calls).toMatchObject([
      {
        method: 'AlterTopic',
        request: {
          ...{ topic: 'orders', topicId: '', partitions: 6, validateOnly: false },
          ...{ setConfigs: { flush: 'sync' }, removeConfigs: ['retention.ms'] },
          newAssignments: [{ replicas: [1, 2] }],
          timeoutMs: 8_500,
        },
      },
    ]);
  });

  test('a broker that dies over it: another one is asked, for it may be done twice', async () => {
    const { admin, calls, done } = await world({
      AlterTopic: () => {
        if (calls.length === 1) throw lost;
        return altered;
      },
    });
    expect(await done(admin.alterTopic('orders', { partitions: 6 }))).toEqual(altered);
    expect(new Set(calls.map(({ broker }) => broker)).size).toBe(2);
  });

  test('an answer that was lost is maybe written, whatever the next broker says', async () => {
    const { admin, calls, done } = await world({
      AlterTopic: () => {
        throw calls.length === 1 ? lost : new TributaryError('INVALID_PARTITIONS', 'has 6');
      },
    });
    await expect(done(admin.alterTopic('orders', { partitions: 6 }))).rejects.toMatchObject({
      ...{ code: 'INVALID_PARTITIONS', outcome: 'maybe written' },
    });
  });

  test('what is done and only not shown yet is not done again', async () => {
    const late = new TributaryError('TIMEOUT', 'altered, but', { outcome: 'written' });
    const { admin, calls, done } = await world({ AlterTopic: () => Promise.reject(late) });
    await expect(done(admin.alterTopic('orders', { partitions: 6 }))).rejects.toMatchObject({
      outcome: 'written',
    });
    expect(calls).toHaveLength(1);
  });

  test('nobody answers in time: maybe written', async () => {
    const { admin, clock, done } = await world({ AlterTopic: silence });
    const altering = admin.alterTopic('orders', { partitions: 6 }, { timeoutMs: 5_000 });
    await expect(done(altering)).rejects.toMatchObject({ outcome: 'maybe written' });
    expect(clock.now()).toBeLessThan(5_100);
  });

  test('no broker to be reached: not written', async () => {
    const { admin, cluster, done } = await world();
    for (const broker of [1, 2, 3]) cluster.crash(broker);
    const altering = admin.alterTopic('orders', { partitions: 6 }, { timeoutMs: 5_000 });
    await expect(done(altering)).rejects.toMatchObject({ outcome: 'not written' });
    const creating = admin.createTopic({ topic: 'orders' }, { timeoutMs: 5_000 });
    await expect(done(creating)).rejects.toMatchObject({ outcome: 'not written' });
  });

  test('a name that no topic can have goes nowhere', async () => {
    const { admin, calls } = await world();
    await expect(admin.alterTopic('a b', { partitions: 6 })).rejects.toMatchObject({
      code: 'INVALID_TOPIC',
    });
    expect(calls).toEqual([]);
  });
});

describe('reassignments', () => {
  test('each partition has a result of its own', async () => {
    const refusal = new TributaryError('UNKNOWN_BROKER', 'broker 9 is not there');
    const { admin, calls, done } = await world({
      ReassignPartitions: () => ({
        partitions: [orders0, { ...orders0, partition: 1, error: toWireError(refusal) }],
      }),
    });
    const moves = [
      { topic: 'orders', partition: 0, replicas: [2, 3] },
      { topic: 'orders', partition: 1, replicas: [9] },
    ];
    expect(await done(admin.reassignPartitions(moves))).toMatchObject([
      { ...orders0, error: undefined },
      { partition: 1, error: { code: 'UNKNOWN_BROKER', message: 'broker 9 is not there' } },
    ]);
    expect(calls[0]?.request).toMatchObject({
      reassignments: moves.map((move) => ({ ...move, cancel: false })),
    });
  });

  test('what is refused for now only is asked for again, and that alone; at the deadline it is told', async () => {
    const busy = toWireError(new TributaryError('UNAVAILABLE', 'what it had is being deleted'));
    let refusals = 3;
    const { admin, calls, done } = await world({
      ReassignPartitions: ({ request }) => ({
        partitions: (request as { reassignments: { partition: number }[] }).reassignments.map(
          ({ partition }) => ({
            ...{ ...orders0, partition },
            error: partition === 1 && refusals-- > 0 ? busy : null,
          }),
        ),
      }),
    });
    const moves = [0, 1, 2].map((partition) => ({ topic: 'orders', partition, replicas: [2, 3] }));
    const asked = (): number[][] =>
      calls.map(({ request }) =>
        (request as { reassignments: { partition: number }[] }).reassignments.map(
          ({ partition }) => partition,
        ),
      );
    expect(await done(admin.reassignPartitions(moves))).toMatchObject(
      [0, 1, 2].map((partition) => ({ partition, error: undefined })),
    );
    expect(asked()).toEqual([[0, 1, 2], [1], [1], [1]]);
    refusals = Infinity;
    expect(await done(admin.reassignPartitions(moves, { timeoutMs: 1_000 }))).toMatchObject([
      { partition: 0, error: undefined },
      { partition: 1, error: { code: 'UNAVAILABLE' } },
      { partition: 2, error: undefined },
    ]);
  });

  test('listed with who is in sync; what is done is not listed; all are cancelled by default', async () => {
    const { admin, calls, cluster, done } = await world({
      ReassignPartitions: () => ({ partitions: [orders0] }),
    });
    cluster.createTopic('orders', 2);
    expect(await done(admin.cancelReassignments())).toEqual([]);
    cluster.partition('orders', 0).moved = {
      ...{ replicas: [3, 2, 1], isr: [1, 2] },
      ...{ addingReplicas: [3, 2], removingReplicas: [1], eligibleLeaders: [3] },
    };
    const ongoing = [
      {
        ...{ topic: 'orders', partition: 0, replicas: [3, 2], removing: [1] },
        adding: [
          { brokerId: 3, inSync: false },
          { brokerId: 2, inSync: true },
        ],
      },
    ];
    const listed = { progress: false };
    expect(await done(admin.listReassignments(listed))).toMatchObject(ongoing);
    const ofOrders = { topics: ['orders'], ...listed };
    expect(await done(admin.listReassignments(ofOrders))).toMatchObject(ongoing);
    expect(await done(admin.describeTopic('orders', { offsets: false }))).toMatchObject({
      partitions: [
        { addingReplicas: [3, 2], removingReplicas: [1], eligibleLeaders: [3] },
        { addingReplicas: [] },
      ],
    });
    expect(await done(admin.cancelReassignments())).toMatchObject([{ partition: 0 }]);
    expect(calls.map(({ request }) => request)).toMatchObject([
      { reassignments: [{ topic: 'orders', partition: 0, replicas: [], cancel: true }] },
    ]);
  });
});

describe('progress of a move', () => {
  const follower = { attached: true, bytesPerSecond: 50, catchingUp: false };
  const told = {
    ...orders0,
    ...{ leaderEpoch: 0, logStartOffset: 0, logEndOffset: 100, logBytes: 2_000 },
    followers: [
      { ...follower, brokerId: 2, logEndOffset: 100, bytesBehind: 0 },
      { ...follower, brokerId: 3, logEndOffset: 60, bytesBehind: 800, catchingUp: true },
    ],
  };

  async function moving(answer: (call: AdminCall) => object | Promise<object>) {
    const w = await world({ DescribeReplicas: answer });
    w.cluster.createTopic('orders', 1);
    w.cluster.partition('orders', 0).moved = {
      ...{ replicas: [1, 2, 3], isr: [1, 2] },
      ...{ addingReplicas: [2, 3], removingReplicas: [], eligibleLeaders: [] },
    };
    const added = async () => (await w.done(w.admin.listReassignments()))[0]?.adding;
    return { ...w, added };
  }

  test('is what the leader tells of each new replica, and only the leader is asked', async () => {
    const { added, calls, cluster } = await moving(() => ({
      ...{ results: [told], catchUpBytesPerSecond: 1_000 },
    }));
    const sizes = { leaderEndOffset: 100n, leaderBytes: 2_000, bytesPerSecond: 50 };
    expect(await added()).toEqual([
      {
        ...{ brokerId: 2, inSync: true, unknown: undefined },
        progress: { ...sizes, endOffset: 100n, bytes: 2_000, throttleBytesPerSecond: undefined },
      },
      {
        ...{ brokerId: 3, inSync: false, unknown: undefined },
        progress: { ...sizes, endOffset: 60n, bytes: 1_200, throttleBytesPerSecond: 1_000 },
      },
    ]);
    expect(calls).toMatchObject([
      {
        broker: cluster.partition('orders', 0).leader,
        request: { partitions: [{ topic: 'orders', partition: 0 }] },
      },
    ]);
  });

  test('a leader that finds its own rate tells no throttle', async () => {
    const { added } = await moving(() => ({ results: [told] }));
    expect(await added()).toMatchObject([{}, { progress: { throttleBytesPerSecond: undefined } }]);
  });

  test('a leader that hangs: unknown, and the list comes all the same', async () => {
    const { added, clock } = await moving(silence);
    expect(await added()).toMatchObject([
      { brokerId: 2, inSync: true, progress: undefined, unknown: expect.stringMatching(/./) },
      { brokerId: 3, inSync: false, progress: undefined, unknown: expect.stringMatching(/./) },
    ]);
    expect(clock.now()).toBeLessThan(4_000);
  });

  test('a broker of an earlier version does not know the question: unknown', async () => {
    const { added } = await moving(() => {
      throw new TributaryError('UNSUPPORTED_VERSION', 'DescribeReplicas is not known here');
    });
    const why = 'DescribeReplicas is not known here';
    expect(await added()).toMatchObject([{ unknown: why }, { unknown: why }]);
  });

  test('one that does not follow now, or that the leader has not heard of: unknown', async () => {
    const away = { brokerId: 2, attached: false, logEndOffset: -1, bytesBehind: -1 };
    const { added } = await moving(() => ({ results: [{ ...told, followers: [away] }] }));
    expect(await added()).toMatchObject([
      { progress: undefined, unknown: 'it does not follow its leader now' },
      { progress: undefined, unknown: 'its leader has not heard of it yet' },
    ]);
  });

  test('a partition without a leader: unknown at once', async () => {
    const { added, calls, clock, cluster } = await moving(silence);
    cluster.partition('orders', 0).leader = -1;
    const why = 'the partition has no leader now';
    expect(await added()).toMatchObject([{ unknown: why }, { unknown: why }]);
    expect(calls).toEqual([]);
    expect(clock.now()).toBeLessThan(1_000);
  });

  test('cancelReassignments asks no leader', async () => {
    const { admin, calls, cluster, done } = await world({
      ReassignPartitions: () => ({ partitions: [orders0] }),
    });
    cluster.createTopic('orders', 1);
    cluster.partition('orders', 0).moved = {
      ...{ replicas: [1, 2], isr: [1], addingReplicas: [2], removingReplicas: [] },
      eligibleLeaders: [],
    };
    await done(admin.cancelReassignments());
    expect(calls.map(({ method }) => method)).toEqual(['ReassignPartitions']);
  });
});

test('electLeaders says which kind', async () => {
  const { admin, calls, done } = await world({
    ElectLeaders: () => ({ partitions: [orders0] }),
  });
  expect(await done(admin.electLeaders({ kind: 'preferred' }))).toMatchObject([{ partition: 0 }]);
  const partitions = [{ topic: 'orders', partition: 0 }];
  await done(admin.electLeaders({ kind: 'unclean', partitions }));
  expect(calls.map(({ request }) => request)).toMatchObject([
    { kind: 'ELECTION_KIND_PREFERRED', partitions: [] },
    { kind: 'ELECTION_KIND_UNCLEAN', partitions },
  ]);
});

describe('what a compiler would have refused', () => {
  type Untyped = Record<string, (...given: unknown[]) => Promise<unknown>>;

  test.each<[string, unknown[], string]>([
    ['electLeaders', [[{ topic: 'orders', partition: 0 }]], 'options is a list, not an object'],
    ['electLeaders', [{}], "options.kind is missing, not 'preferred' | 'unclean'"],
    ['electLeaders', [], 'options is missing, not an object'],
    ['electLeaders', [{ kind: 'clean' }], "options.kind is 'clean', not"],
    ['electLeaders', [{ kind: 'preferred', topics: [] }], 'options.topics is not known'],
    ['reassignPartitions', [], 'moves is missing, not a list'],
    ['reassignPartitions', [[{ topic: 'orders', partition: 0 }]], 'moves[0].replicas is missing'],
    ['reassignPartitions', [[{ topic: 'orders', partition: 0, replicas: ['1'] }]], "moves[0].replicas[0] is '1', not a whole number"],
    ['cancelReassignments', ['orders'], "partitions is 'orders', not a list"],
    ['alterTopic', ['orders'], 'alteration is missing, not an object'],
    ['alterTopic', ['orders', { configs: {} }], 'alteration.configs is not known'],
    ['alterTopic', ['orders', { setConfigs: { flush: 1 } }], "alteration.setConfigs['flush'] is 1, not a text"],
    ['alterTopic', ['orders', {}, { dryRun: true }], 'options.dryRun is not known'],
    ['createTopic', ['orders'], "topic is 'orders', not an object"],
    ['drainBroker', ['2'], "brokerId is '2', not the id of a broker"],
    ['decommissionBroker', [], 'brokerId is missing'],
    ['returnBroker', [1.5], 'brokerId is 1.5'],
    ['alterBroker', [2], 'alteration is missing'],
    ['alterBroker', ['2', {}], "broker is '2', not the id of a broker"],
    ['alterBroker', [2, { duty: 'gone' }], "alteration.duty is 'gone', not 'in service' |"],
    ['deleteRecords', ['orders'], 'before is missing, not an object'],
    ['acceptLoss', ['orders', 0], 'options is missing'],
    ['listReassignments', ['orders'], "options is 'orders', not an object"],
    ['describeBrokers', [{ timeout: 5 }], 'options.timeout is not known'],
    ['listGroups', [{ timeoutMs: '5' }], "options.timeoutMs is '5', not a count of milliseconds"],
  ])('%s(...%j) rejects, names the argument and its form, and sends nothing', async (call, given, message) => {
    const { admin, calls } = await world();
    await expect((admin as unknown as Untyped)[call]?.(...given)).rejects.toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', outcome: 'not written' },
      message: expect.stringContaining(`${call}: ${message}`),
      hint: expect.stringMatching(/^\w+: ./),
    });
    expect(calls).toEqual([]);
  }); // prettier-ignore

  test('the hint shows the whole form', async () => {
    const { admin } = await world();
    await expect((admin as unknown as Untyped)['electLeaders']?.()).rejects.toMatchObject({
      hint: "options: { kind: 'preferred' | 'unclean', partitions?: [{ topic: a text, partition: a whole number }, ...], timeoutMs?: a count of milliseconds, signal?: an AbortSignal }",
    });
  });
});

describe('brokers', () => {
  test('drain, decommission, return; settings of one and of all', async () => {
    const { admin, calls, done } = await world({
      AlterBroker: ({ request }) => ({ configs: {}, duty: (request as { duty: string }).duty }),
    });
    expect(await done(admin.drainBroker(2))).toEqual({ configs: {}, duty: 'drained' });
    expect(await done(admin.decommissionBroker(2))).toMatchObject({ duty: 'decommissioned' });
    expect(await done(admin.returnBroker(2))).toMatchObject({ duty: 'in service' });
    await done(admin.alterBroker('all', { setConfigs: { a: '1' }, removeConfigs: ['b'] }));
    expect(calls.map(({ request }) => request)).toMatchObject([
      { brokerId: 2, duty: 'BROKER_DUTY_DRAINED' },
      { brokerId: 2, duty: 'BROKER_DUTY_DECOMMISSIONED' },
      { brokerId: 2, duty: 'BROKER_DUTY_IN_SERVICE' },
      ...[{ brokerId: -1, duty: 'BROKER_DUTY_UNSPECIFIED', setConfigs: { a: '1' }, removeConfigs: ['b'] }], // prettier-ignore
    ]);
    await expect(admin.drainBroker(-1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a broker that stands still leaves time to ask another one', async () => {
    const { admin, calls, done } = await world({
      DescribeBrokers: () => (calls.length === 1 ? silence() : { brokers: [] }),
    });
    expect(await done(admin.describeBrokers({ timeoutMs: 8_000 }), 8_000)).toEqual([]);
    expect(new Set(calls.map(({ broker }) => broker)).size).toBe(2);
  });

  test('are described in the words of the SDK', async () => {
    const { admin, done } = await world({
      DescribeBrokers: () => ({
        brokers: [
          { brokerId: 1, registered: true, duty: 'BROKER_DUTY_DRAINED', rack: 'a', leaders: 3 },
          { brokerId: 2, duty: 'BROKER_DUTY_UNSPECIFIED' },
        ],
      }),
    });
    expect(await done(admin.describeBrokers())).toMatchObject([
      { brokerId: 1, registered: true, duty: 'drained', rack: 'a', leaders: 3 },
      { brokerId: 2, registered: false, duty: 'in service', rack: undefined },
    ]);
  });
});

describe('decisions', () => {
  const decided = (atMs: number, controllerEpoch: number) => ({
    ...{ atMs, controllerEpoch, who: 'orders-0', what: `at ${atMs}`, why: 'y' },
  });

  test('of all brokers in the order of controller epochs, and who did not answer', async () => {
    const answers: Record<number, object[]> = { 1: [decided(5, 1), decided(9, 3)], 2: [decided(20, 2)] }; // prettier-ignore
    const { admin, clock, done } = await world({
      ListDecisions: ({ broker }) => {
        const decisions = answers[broker];
        return decisions ? { brokerId: broker, decisions } : silence();
      },
    });
    const list = await done(admin.listDecisions());
    expect(list.decisions.map(({ brokerId, at }) => [brokerId, at])).toEqual([
      [1, 5],
      [2, 20],
      [1, 9],
    ]);
    expect(list.unanswered).toMatchObject([{ brokerId: 3, error: { code: 'TIMEOUT' } }]);
    expect(clock.now()).toBeLessThan(4_000);
    expect((await done(admin.listDecisions({ limit: 1 }))).decisions).toMatchObject([{ at: 9 }]);
  });

  test('of none, where no broker answers, is an error', async () => {
    const { admin, done } = await world({ ListDecisions: () => Promise.reject(lost) });
    await expect(done(admin.listDecisions())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
