import { seededRandom, silentLogger, TributaryError, type Clock } from '@tributary/common';
import type { GroupMembership, GroupStore } from '@tributary/coordination';
import {
  clientHello,
  methods,
  type JoinInput,
  type MemberDown,
  type MemberUpInput,
} from '@tributary/protocol';
import {
  recordStream,
  SimulatedClock,
  SimulatedNetwork,
  type RecordedStream,
} from '@tributary/testkit';
import type { GroupLimits } from './group-limits';
import { groupHandlers } from './index';

const address = { host: 'broker', port: 9_292 };
const partition = { topic: 'orders', topicId: 'id-of-orders', partition: 0 };

/** A store that remembers its members, and whose calls the test answers. */
class FakeStore {
  readonly members: FakeMembership[] = [];
  leaveFailures = 0;

  async join(): Promise<GroupMembership> {
    const member = new FakeMembership(this, `member-${this.members.length}`);
    this.members.push(member);
    return member as unknown as GroupMembership;
  }

  async fetchOffsets(): Promise<never[]> {
    return [];
  }
}

class FakeMembership {
  left = 0;
  readonly calls: ((result: unknown) => void)[] = [];
  private lost: () => void = () => undefined;

  constructor(
    private readonly store: FakeStore,
    readonly memberId: string,
  ) {}

  onChange(): { stop(): void } {
    return { stop: () => undefined };
  }

  onLost(listener: () => void): { stop(): void } {
    this.lost = listener;
    return { stop: () => undefined };
  }

  expire(): void {
    this.lost();
  }

  release(): Promise<unknown> {
    return new Promise((resolve) => this.calls.push(resolve));
  }

  async leave(): Promise<void> {
    this.left += 1;
    if (this.store.leaveFailures-- > 0) {
      throw new TributaryError('COORDINATOR_UNAVAILABLE', 'ZooKeeper is away');
    }
  }
}

class ClientSide {
  constructor(private readonly record: RecordedStream<MemberUpInput, MemberDown>) {}

  get messages(): MemberDown[] {
    return this.record.messages;
  }

  /** With which the broker ended it. */
  get error(): TributaryError | undefined {
    return this.record.closes[0];
  }

  send(message: MemberUpInput): void {
    this.record.stream.send(message);
  }

  cut(): void {
    this.record.stream.cut();
  }
}

class Rig {
  readonly clock = new SimulatedClock();
  readonly network = new SimulatedNetwork({ clock: this.clock, random: seededRandom(1) });
  readonly store = new FakeStore();
  readonly client = this.network.transport('client');

  async listen(limits: Partial<GroupLimits> = {}): Promise<this> {
    const handlers = groupHandlers({
      groupStore: this.store as unknown as GroupStore,
      clock: this.clock,
      logger: silentLogger,
      acceptor: () => ({
        clusterId: 'c',
        brokerId: 1,
        brokerEpoch: 1,
        features: [],
        creditBytes: 0,
        maxInFlightRequests: 0,
        maxRequestBytes: 0,
      }),
      limits,
    });
    await this.network.transport('broker').listen({ ...address, listener: 'outside', handlers });
    return this;
  }

  open(): ClientSide {
    return new ClientSide(
      recordStream(this.client.connect(address, 'client').open(methods.group.member)),
    );
  }

  async join(more: JoinInput = {}): Promise<ClientSide> {
    const stream = this.open();
    stream.send({ hello: clientHello() });
    stream.send({ join: { group: 'g', topics: ['orders'], leaseMs: 4_000, ...more } });
    await this.clock.advance(50);
    return stream;
  }

  /** What a unary call fails with. */
  async failure(work: Promise<unknown>): Promise<unknown> {
    return this.clock.settleWithin(
      work.catch((thrown: unknown) => thrown),
      1_000,
    );
  }
}

function release(callId: number): MemberUpInput {
  return { call: { callId, call: 'release', release: { partition, ownerEpoch: 1 } } };
}

describe("a broker's side of a membership", () => {
  test('hello, join, heartbeats, leave', async () => {
    const rig = await new Rig().listen();
    const stream = await rig.join();
    stream.send({ heartbeat: { id: 7 } });
    await rig.clock.advance(50);
    expect(stream.messages.map(({ body }) => body)).toEqual(['hello', 'joined', 'heartbeat']);
    expect(stream.messages[1]?.joined).toEqual({ memberId: 'member-0', leaseMs: 4_000 });
    stream.send({ leave: {} });
    await rig.clock.advance(50);
    expect(rig.store.members[0]?.left).toBe(1);
  });

  test('silence for a lease ends it, with the stream open', async () => {
    const rig = await new Rig().listen();
    const stream = await rig.join();
    await rig.clock.advance(3_900);
    expect(rig.store.members[0]?.left).toBe(0);
    await rig.clock.advance(200);
    expect(rig.store.members[0]?.left).toBe(1);
    expect(stream.error).toMatchObject({ code: 'UNKNOWN_MEMBER' });
  });

  test('a lease keeps no process alive', async () => {
    const rig = await new Rig().listen();
    const clock: Clock = rig.clock;
    const timers = jest.spyOn(clock, 'setTimer');
    await rig.join();
    const leases = timers.mock.calls.filter(([delayMs]) => delayMs === 4_000);
    expect(leases.map(([, , options]) => options)).toEqual([{ unref: true }]);
  });

  test('a broken stream leaves the lease; the same member comes back within it, nobody else', async () => {
    const rig = await new Rig().listen();
    const first = await rig.join();
    first.cut();
    await rig.clock.advance(2_000);
    const second = await rig.join({ resumeMemberId: 'member-0' });
    expect(second.messages.at(-1)?.joined?.memberId).toBe('member-0');
    const stranger = await rig.join({ resumeMemberId: 'member-9' });
    expect(stranger.error).toMatchObject({ code: 'UNKNOWN_MEMBER' });
    await rig.clock.advance(3_500); // of the second lease
    expect(rig.store.members.map(({ left }) => left)).toEqual([0]);
  });

  test('a call that is sent again over a new stream runs once, and its answer comes there', async () => {
    const rig = await new Rig().listen();
    const first = await rig.join();
    first.send(release(1));
    await rig.clock.advance(50);
    first.cut();
    const second = await rig.join({ resumeMemberId: 'member-0' });
    second.send(release(1));
    await rig.clock.advance(50);
    const { calls } = rig.store.members[0]!;
    expect(calls).toHaveLength(1);
    calls[0]!(undefined);
    await rig.clock.advance(50);
    expect(second.messages.at(-1)?.result).toMatchObject({ callId: 1, result: 'released' });
  });

  test('the store loses the member: the client is told', async () => {
    const rig = await new Rig().listen();
    const stream = await rig.join();
    rig.store.members[0]?.expire();
    await rig.clock.advance(50);
    expect(stream.error).toMatchObject({ code: 'UNKNOWN_MEMBER' });
  });

  test('a leave that fails is tried again: no member stays behind', async () => {
    const rig = await new Rig().listen();
    rig.store.leaveFailures = 3;
    const stream = await rig.join();
    stream.send({ leave: {} });
    await rig.clock.advance(10_000);
    expect(rig.store.members[0]?.left).toBe(4);
  });

  test('limits: members, calls, time for the hello', async () => {
    const rig = await new Rig().listen({ maxMembers: 1, maxCallsPerMember: 2, joinTimeoutMs: 500 });
    const stream = await rig.join();
    expect((await rig.join()).error).toMatchObject({ code: 'OVERLOADED' });
    for (const callId of [1, 2, 3]) stream.send(release(callId));
    await rig.clock.advance(50);
    expect(stream.messages.at(-1)?.result).toMatchObject({
      callId: 3,
      error: { code: 'OVERLOADED' },
    });
    const mute = rig.open();
    await rig.clock.advance(600);
    expect(mute.error).toMatchObject({ code: 'TIMEOUT' });
  });

  test.each([
    ['a join before the hello', [{ join: { group: 'g' } }]],
    ['two hellos', [{ hello: clientHello() }, { hello: clientHello() }]],
    ['a call before the join', [{ hello: clientHello() }, release(1)]],
    ['a group name with a slash', [{ hello: clientHello() }, { join: { group: 'a/b' } }]],
    [
      'a topic name with a slash',
      [{ hello: clientHello() }, { join: { group: 'g', topics: ['/'] } }],
    ],
  ] as [string, MemberUpInput[]][])('%s is refused', async (_, messages) => {
    const rig = await new Rig().listen();
    const stream = rig.open();
    for (const message of messages) stream.send(message);
    await rig.clock.advance(100);
    expect(['INVALID_ARGUMENT', 'INVALID_TOPIC']).toContain(stream.error?.code);
  });

  test('a call that lies about its partition is answered, not carried out', async () => {
    const rig = await new Rig().listen();
    const stream = await rig.join();
    const wrong = { ...partition, topic: '../brokers' };
    stream.send({ call: { callId: 1, call: 'release', release: { partition: wrong } } });
    stream.send({ call: { callId: 2, call: 'claim', claim: {} } });
    await rig.clock.advance(50);
    const results = stream.messages.flatMap(({ result }) => (result ? [result] : []));
    expect(results.map(({ callId, error }) => [callId, error?.code])).toEqual([
      [1, 'INVALID_TOPIC'],
      [2, 'INVALID_ARGUMENT'],
    ]);
  });

  test('unary calls check the group name too', async () => {
    const rig = await new Rig().listen();
    const connection = rig.client.connect(address, 'client');
    const call = connection.call(methods.group.fetchOffsets, { group: '..' }, { timeoutMs: 500 });
    expect(await rig.failure(call)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
