import { seededRandom, sleep, silentLogger, type LogFields } from '@tributary/common';
import { groupHandlers } from '@tributary/broker';
import { createGroupStore, type Coordinator } from '@tributary/coordination';
import {
  EmbeddedHarness,
  FetchCluster,
  RunningClock,
  type SimulatedClock,
} from '@tributary/testkit';
import { createClient, type Client } from '../client';
import { string } from '../serde';
import type { Consumer, ConsumerOptions, ConsumerRecord } from './index';

type TextConsumer = Consumer<Uint8Array, string>;
type TextRecord = ConsumerRecord<Uint8Array, string>;

let embedded: EmbeddedHarness;
let clock: SimulatedClock;
let time: RunningClock;
let cluster: FetchCluster;
let clients: Client[];
const alarms: string[] = [];

beforeEach(async () => {
  embedded = new EmbeddedHarness();
  clock = embedded.clock;
  const coordinators: Coordinator[] = [await embedded.connect(), await embedded.connect()];
  cluster = new FetchCluster(clock, 2, (acceptor) => {
    const coordinator = coordinators[acceptor().brokerId - 1]!;
    const groupStore = createGroupStore(coordinator, clock, embedded.random);
    return groupHandlers({ groupStore, clock, logger: silentLogger, acceptor });
  });
  await cluster.start();
  clients = [];
  alarms.length = 0;
  time = new RunningClock(clock);
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  time.stop();
  // A rebalance is ordinary: nobody is to be alarmed.
  expect(alarms).toEqual([]);
});

function newClient(name: string): Client {
  const alarm = (message: string, fields?: LogFields): void =>
    void alarms.push(`${message} ${JSON.stringify(fields)}`);
  const client = createClient({
    brokers: cluster.bootstrap,
    clientId: name,
    transport: cluster.client(name),
    clock,
    random: seededRandom(clients.length + 1),
    logger: { ...silentLogger, error: alarm, warn: alarm },
    requestTimeoutMs: 4_000,
  });
  clients.push(client);
  return client;
}

/** A member that keeps a diary, and reads by itself. */
class Member {
  readonly diary: string[] = [];
  readonly seen: string[] = [];
  readonly consumer: TextConsumer;
  failure: unknown;
  loop: Promise<void> | undefined;

  constructor(
    readonly name: string,
    options: Partial<ConsumerOptions<Uint8Array, string>> = {},
  ) {
    this.consumer = newClient(name).consumer({
      group: 'billing',
      topics: ['logs'],
      value: string(),
      sessionTimeoutMs: 2_000,
      ...options,
    });
    for (const event of ['assigned', 'revoked', 'lost'] as const) {
      this.consumer.on(event, ({ partitions }) => {
        const numbers = partitions.map(({ partition }) => partition).sort();
        this.diary.push(`${event} ${numbers.join(' ')}`);
      });
    }
  }

  /** Commits each record after `handle`. */
  start(handle: (record: TextRecord) => Promise<void> | void = () => undefined): this {
    this.loop = (async () => {
      for await (const record of this.consumer) {
        await handle(record);
        this.seen.push(`${record.partition}@${record.offset} ${record.value}`);
        await record.commit();
      }
    })();
    this.loop.catch((thrown: unknown) => (this.failure = thrown));
    return this;
  }

  get owns(): number[] {
    return this.consumer
      .assignment()
      .map(({ partition }) => partition)
      .sort();
  }

  async untilOwns(...partitions: number[]): Promise<void> {
    await until(() => this.owns.join() === partitions.join());
  }

  kill(): void {
    cluster.network.crash(this.name);
  }
}

function until(condition: () => boolean): Promise<void> {
  return time.until(condition, 60_000);
}

/** Claims of this partition are sent later. */
function slowClaims(client: Client, partition: number, delayMs: number): void {
  const groups = client.context.groups();
  const { join } = groups;
  jest.spyOn(client.context, 'groups').mockReturnValue(groups);
  jest.spyOn(groups, 'join').mockImplementation(async (...call) => {
    const membership = await join.apply(groups, call);
    const { claim } = membership;
    membership.claim = async (wanted, generation) => {
      if (wanted.partition === partition) await sleep(clock, delayMs);
      return claim.call(membership, wanted, generation);
    };
    return membership;
  });
}

async function committed(consumer: TextConsumer): Promise<string[]> {
  const offsets = await consumer.committed();
  return offsets.map(({ partition, offset }) => `${partition}:${offset}`).sort();
}

describe('a consumer group', () => {
  test('one member reads all; what it committed is where the next one starts', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'a', 'b');
    cluster.append('logs', 1, 'x');
    const first = new Member('first').start();
    await until(() => first.seen.length === 3);
    await until(() => first.diary.length === 1);
    expect(first.diary).toEqual(['assigned 0 1']);
    await sleep(clock, 100);
    expect(await committed(first.consumer)).toEqual(['0:2', '1:1']);
    await first.consumer.close();
    expect(first.diary).toEqual(['assigned 0 1', 'revoked 0 1']);
    cluster.append('logs', 0, 'c');
    const second = new Member('second').start();
    await until(() => second.seen.length === 1);
    expect(second.seen).toEqual(['0@2 c']);
  });

  test('two join, one dies: the other takes over all, and is never interrupted in its own', async () => {
    cluster.createTopic('logs', 4);
    for (let i = 0; i < 40; i += 1) cluster.append('logs', i % 4, `v${i}`);
    const a = new Member('a').start();
    await a.untilOwns(0, 1, 2, 3);
    const b = new Member('b').start();
    await b.untilOwns(2, 3);
    await a.untilOwns(0, 1);
    await until(() => a.seen.length + b.seen.length >= 40);
    a.kill();
    for (let i = 40; i < 80; i += 1) cluster.append('logs', i % 4, `v${i}`);
    await b.untilOwns(0, 1, 2, 3);
    await until(() => new Set([...a.seen, ...b.seen]).size === 80);
    expect(a.diary.slice(0, 2)).toEqual(['assigned 0 1 2 3', 'revoked 2 3']);
    expect(b.diary).toEqual(['assigned 2 3', 'assigned 0 1']);
    for (const partition of [2, 3]) {
      const own = b.seen.filter((text) => text.startsWith(`${partition}@`));
      expect(own).toEqual([...new Set(own)].sort(byOffset));
    }
    expect(b.failure).toBeUndefined();
  });

  test('a member that leaves hands over at once, without a record twice', async () => {
    cluster.createTopic('logs', 2);
    const a = new Member('a').start();
    await a.untilOwns(0, 1);
    const b = new Member('b').start();
    await b.untilOwns(1);
    for (let i = 0; i < 20; i += 1) cluster.append('logs', i % 2, `v${i}`);
    await until(() => a.seen.length + b.seen.length === 20);
    await sleep(clock, 50);
    const began = clock.now();
    await a.consumer.close();
    expect(clock.now() - began).toBeLessThan(1_000);
    await b.untilOwns(0, 1);
    for (let i = 20; i < 40; i += 1) cluster.append('logs', i % 2, `v${i}`);
    await until(() => b.seen.length === 30);
    await sleep(clock, 1_000);
    expect(a.seen.length + b.seen.length).toBe(40);
  });

  test('many members come and go: in the end every partition has one owner, nothing is missed', async () => {
    cluster.createTopic('logs', 6);
    const members: Member[] = [];
    let appended = 0;
    const produce = (count: number): void => {
      for (let i = 0; i < count; i += 1) cluster.append('logs', appended % 6, `v${appended++}`);
    };
    for (const name of ['a', 'b', 'c', 'd']) {
      members.push(new Member(name).start());
      produce(12);
      await sleep(clock, 300);
    }
    members[1]!.kill();
    produce(12);
    await sleep(clock, 300);
    await members[3]!.consumer.close();
    produce(12);
    const left = [members[0]!, members[2]!];
    await until(() => left.flatMap(({ owns }) => owns).length === 6);
    expect(left.flatMap(({ owns }) => owns).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    await until(() => new Set(members.flatMap(({ seen }) => seen)).size === appended);
  });

  test('a record in hand is finished and committed before its partition goes', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'a');
    let release: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (release = resolve));
    const a = new Member('a').start((record) => (record.value === 'slow' ? slow : undefined));
    await until(() => a.seen.length === 1);
    cluster.append('logs', 1, 'slow');
    await sleep(clock, 1_000);
    const b = new Member('b').start();
    await sleep(clock, 5_000);
    expect(b.owns).toEqual([]); // a holds partition 1 as long as it works on it
    release();
    await b.untilOwns(1);
    cluster.append('logs', 1, 'next');
    await until(() => b.seen.length === 1);
    expect(b.seen).toEqual(['1@1 next']);
    expect(a.seen).toContain('1@0 slow');
  });

  test('a handler that never ends gives its partition away after the rebalance timeout; its commit is fenced', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 1, 'stuck');
    let inHand: TextRecord | undefined;
    const a = new Member('a', { rebalanceTimeoutMs: 3_000 });
    a.start((record) => {
      inHand = record;
      return new Promise(() => undefined);
    });
    await until(() => inHand !== undefined);
    const b = new Member('b').start();
    await b.untilOwns(1);
    await until(() => b.seen.length === 1);
    await expect(inHand!.commit()).rejects.toMatchObject({ code: 'FENCED_OWNER' });
    expect(await committed(b.consumer)).toEqual(['1:1']);
  });

  test('the heartbeat does not depend on the handler: a slow one loses nothing', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'slow', 'next');
    const a = new Member('a').start((record) =>
      record.value === 'slow' ? sleep(clock, 20_000) : undefined,
    );
    await until(() => a.seen.length === 2);
    expect(a.diary).toEqual(['assigned 0']);
    expect(a.failure).toBeUndefined();
  });

  test('cut off for longer than its lease: lost, its commits fenced; it joins again', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'a');
    let inHand: TextRecord | undefined;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const a = new Member('a');
    const reading = (async () => {
      for await (const record of a.consumer) {
        inHand ??= record;
        await held;
      }
    })();
    await until(() => inHand !== undefined);
    const b = new Member('b').start();
    await b.untilOwns(1);
    cluster.network.partition('a', 'broker-1');
    cluster.network.partition('a', 'broker-2');
    await b.untilOwns(0, 1);
    await until(() => a.diary.some((line) => line.startsWith('lost')));
    await expect(inHand!.commit()).rejects.toMatchObject({ code: 'FENCED_OWNER' });
    cluster.network.heal();
    release();
    await until(() => a.owns.length === 1 && b.owns.length === 1);
    await a.consumer.close();
    await reading;
  });

  test('the broker that holds the membership dies: the member comes back through another one', async () => {
    cluster.createTopic('logs', 2);
    const a = new Member('a').start();
    await a.untilOwns(0, 1);
    cluster.append('logs', 0, 'before');
    await until(() => a.seen.length === 1);
    // Whichever broker it is: one of them is left to lead and to serve the group.
    cluster.network.crash('broker-1');
    for (const partition of [0, 1]) cluster.moveLeader('logs', partition, 2);
    const first = embedded['clients'][0]!;
    await (await embedded.connect()).endSession(first.sessionTicket!);
    cluster.append('logs', 0, 'after');
    await until(() => a.seen.length === 2);
    expect(a.seen).toEqual(['0@0 before', '0@1 after']);
  });

  test('a partition is announced before its first record, also while the claim of another one takes long', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'a');
    const a = new Member('a');
    slowClaims(clients.at(-1)!, 1, 1_000);
    a.start((record) => void a.diary.push(`${record.value}`));
    await a.untilOwns(0, 1);
    await until(() => a.diary.length === 3);
    expect(a.diary).toEqual(['assigned 0', 'a', 'assigned 1']);
  });

  test('a topic that is deleted and created again: members go on in the new one', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'old');
    const a = new Member('a').start();
    await until(() => a.seen.length === 1);
    cluster.deleteTopic('logs');
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'new');
    await until(() => a.seen.length === 2);
    expect(a.seen).toEqual(['0@0 old', '0@0 new']);
    await until(() => a.owns.length === 2);
  });
});

describe('commits', () => {
  test('KIP-320: what was committed and is lost is told to the next member', async () => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b', 'c']) cluster.append('logs', 0, value);
    const first = new Member('m1').start();
    await until(() => first.seen.length === 3);
    await first.consumer.close();
    cluster.log('logs', 0).truncate(1, 2);
    for (const value of ['x', 'y', 'z']) cluster.append('logs', 0, value);
    const next = new Member('m2').start();
    await until(() => next.failure !== undefined);
    expect(next.failure).toMatchObject({ code: 'LOG_TRUNCATED', details: { offset: 3 } });
  });

  test('commit() covers what is consumed: not the record in hand, which record.commit() does', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b', 'c');
    const { consumer } = new Member('a');
    const records = consumer.records();
    await records.next();
    await consumer.commit();
    expect(await committed(consumer)).toEqual([]);
    const second = await records.next();
    await consumer.commit();
    expect(await committed(consumer)).toEqual(['0:1']);
    if (!second.done) await second.value.commit();
    expect(await committed(consumer)).toEqual(['0:2']);
    await consumer.commit([{ topic: 'logs', partition: 0, offset: 1n, metadata: 'back' }]);
    expect(await committed(consumer)).toEqual(['0:1']);
    const foreign = consumer.commit([{ topic: 'logs', partition: 5, offset: 1 }]);
    await expect(foreign).rejects.toMatchObject({ code: 'FENCED_OWNER' });
  });

  test('autoCommit: from time to time, and when it closes', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b', 'c');
    const { consumer } = new Member('a', { autoCommit: { intervalMs: 1_000 } });
    const records = consumer.records();
    await records.next();
    await records.next();
    await sleep(clock, 1_500);
    expect(await committed(consumer)).toEqual(['0:1']);
    await records.next();
    await consumer.close();
    const { consumer: other } = new Member('b');
    expect(await committed(other)).toEqual(['0:2']);
  });

  test('drain waits for the record in hand, commits it and leaves', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const { consumer } = new Member('a', { autoCommit: {} });
    let handled = 0;
    const loop = (async () => {
      for await (const _ of consumer) {
        await sleep(clock, 1_000);
        handled += 1;
      }
    })();
    await until(() => consumer.position('logs', 0) === 1n);
    await consumer.drain({ timeoutMs: 5_000 });
    await loop;
    expect(handled).toBe(1);
    const { consumer: other } = new Member('b');
    expect(await committed(other)).toEqual(['0:1']);
  });

  test('a revoked listener may still commit', async () => {
    cluster.createTopic('logs', 2);
    cluster.append('logs', 1, 'a', 'b');
    const a = new Member('a');
    a.consumer.on('revoked', () => a.consumer.commit());
    const loop = (async () => {
      for await (const _ of a.consumer) await sleep(clock, 10);
    })();
    await until(() => a.consumer.position('logs', 1) === 2n);
    await sleep(clock, 100);
    const b = new Member('b').start();
    await b.untilOwns(1);
    await sleep(clock, 1_000);
    expect(b.seen).toEqual([]);
    await a.consumer.close();
    await loop;
  });

  test('an unknown topic is told, not waited for in silence', async () => {
    const { consumer } = new Member('a');
    await expect(consumer.records().next()).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' });
  });

  test('after closing nothing is left: no timer', async () => {
    cluster.createTopic('logs', 2);
    const a = new Member('a').start();
    await a.untilOwns(0, 1);
    await a.consumer.close();
    await Promise.all(clients.map((client) => client.close()));
    await embedded.close();
    await sleep(clock, 120_000);
    expect(clock.pendingTimers).toBe(0);
  });
});

function byOffset(a: string, b: string): number {
  const offset = (text: string): number => Number(text.slice(text.indexOf('@') + 1).split(' ')[0]);
  return offset(a) - offset(b);
}
