import { hasCode, seededRandom, sleep, TributaryError } from '@tributary/common';
import { FetchCluster, makeBatch, RunningClock, SimulatedClock } from '@tributary/testkit';
import { assignOffsetAndEpoch, BatchBuilder, CODEC_NAMES } from '@tributary/record';
import { createClient, type Client } from '../client';
import { json, string } from '../serde';
import type { Consumer, ConsumerOptions, ConsumerRecord } from './index';

let clock: SimulatedClock;
let time: RunningClock;
let cluster: FetchCluster;
let client: Client;

beforeEach(async () => {
  clock = new SimulatedClock();
  cluster = new FetchCluster(clock);
  await cluster.start();
  client = createClient({
    brokers: cluster.bootstrap,
    transport: cluster.client(),
    clock,
    random: seededRandom(1),
    requestTimeoutMs: 4_000,
  });
  time = new RunningClock(clock);
});

afterEach(async () => {
  await client.close();
  time.stop();
});

function reader(
  options: Partial<ConsumerOptions<Uint8Array, string>> = {},
): Consumer<Uint8Array, string> {
  const what = options.assign ? {} : { topics: ['logs'] };
  return client.consumer({ value: string(), ...what, ...options });
}

function shown(record: ConsumerRecord<unknown, string>): string {
  return `${record.partition}@${record.offset} ${record.value}`;
}

/** The next `count` records. */
async function take<V>(
  records: AsyncIterator<ConsumerRecord<Uint8Array, V>>,
  count: number,
): Promise<ConsumerRecord<Uint8Array, V>[]> {
  const taken: ConsumerRecord<Uint8Array, V>[] = [];
  while (taken.length < count) {
    const next = await records.next();
    if (next.done) throw new Error(`ended after ${taken.length} records`);
    taken.push(next.value);
  }
  return taken;
}

async function takeShown(
  records: AsyncIterator<ConsumerRecord<Uint8Array, string>>,
  count: number,
): Promise<string[]> {
  return (await take(records, count)).map(shown);
}

async function one<V>(
  next: Promise<IteratorResult<ConsumerRecord<Uint8Array, V>, unknown>>,
): Promise<ConsumerRecord<Uint8Array, V>> {
  const result = await next;
  if (result.done) throw new Error('the loop has ended');
  return result.value;
}

describe('reading', () => {
  test('all partitions of a topic, each in order', async () => {
    cluster.createTopic('logs', 3);
    for (let i = 0; i < 30; i += 1) cluster.append('logs', i % 3, `v${i}`, `w${i}`);
    const seen = await takeShown(reader().records(), 60);
    for (const partition of [0, 1, 2]) {
      const own = seen.filter((text) => text.startsWith(`${partition}@`));
      const expected = Array.from({ length: 20 }, (_, offset) => {
        const round = Math.floor(offset / 2) * 3 + partition;
        return `${partition}@${offset} ${offset % 2 === 0 ? 'v' : 'w'}${round}`;
      });
      expect(own).toEqual(expected);
    }
  });

  test('records that come later are delivered when they come', async () => {
    cluster.createTopic('logs', 1);
    const records = reader().records();
    const first = records.next();
    await sleep(clock, 2_000);
    cluster.append('logs', 0, 'late');
    expect(shown(await one(first))).toBe('0@0 late');
  });

  test('bytes come back as they are: empty, null, CR LF, lone CR, any byte; headers in order, doubled', async () => {
    cluster.createTopic('logs', 1);
    const values = [Buffer.alloc(0), null, Buffer.from('a\r\nb\rc\n'), Buffer.from([0, 255, 254])];
    const headers = [
      { key: 'k', value: Buffer.from('1') },
      { key: 'other', value: null },
      { key: 'k', value: Buffer.from('2') },
    ];
    const inputs = values.map((value) => ({ key: value, value, headers, timestamp: 5 }));
    cluster.append('logs', 0, ...inputs);
    const consumer = client.consumer({ topics: ['logs'] });
    const records = await take(consumer.records(), values.length);
    expect(records.map(({ value }) => value)).toEqual(values);
    expect(records.map(({ key }) => key)).toEqual(values);
    const [{ headers: got, timestamp, leaderEpoch, topic, offset }] = records as [
      ConsumerRecord,
      ...ConsumerRecord[],
    ];
    expect([...got]).toEqual(headers.map(({ key, value }) => [key, value]));
    expect(got.get('k')).toEqual(Buffer.from('2'));
    expect(got.getAll('k')).toEqual([Buffer.from('1'), Buffer.from('2')]);
    expect(got.get('none')).toBeUndefined();
    expect({ timestamp, leaderEpoch, topic, offset }).toEqual({
      timestamp: 5,
      leaderEpoch: 1,
      topic: 'logs',
      offset: 0n,
    });
    expect(JSON.parse(JSON.stringify(records[2]))).toMatchObject({ offset: '2', topic: 'logs' });
  });

  test('starts at an offset in the middle of a batch: what lies below is skipped', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b', 'c');
    cluster.append('logs', 0, 'd');
    const consumer = reader({ assign: [{ topic: 'logs', partition: 0, offset: 1n }] });
    expect(await takeShown(consumer.records(), 3)).toEqual(['0@1 b', '0@2 c', '0@3 d']);
  });

  test('starts at the end when told so', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'old');
    const consumer = reader({ from: 'latest' });
    const next = consumer.records().next();
    await time.until(() => consumer.position('logs', 0) === 1n, 5_000);
    cluster.append('logs', 0, 'new');
    expect(shown(await one(next))).toBe('0@1 new');
  });

  test('a batch that compaction emptied and gaps between offsets do not stop it', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    const gap = new BatchBuilder({ codec: 'none' });
    gap.append({ key: null, value: Buffer.from('later'), headers: [], timestamp: 1 });
    const batch = gap.build();
    assignOffsetAndEpoch(batch, 100, 1);
    cluster.log('logs', 0).appendBytes(batch);
    expect(await takeShown(reader().records(), 2)).toEqual(['0@0 a', '0@100 later']);
  });

  test.each(CODEC_NAMES)('reads codec %s', async (codec) => {
    cluster.createTopic('logs', 1);
    const values = ['a', 'b'.repeat(1_000)];
    cluster.log('logs', 0).appendBytes(makeBatch({ values, codec, leaderEpoch: 1 }));
    const [first, second] = await take(reader().records(), 2);
    expect([first?.value, second?.value]).toEqual(values);
  });

  test('a busy partition does not starve a quiet one', async () => {
    cluster.createTopic('logs', 2);
    for (let i = 0; i < 500; i += 1) cluster.append('logs', 0, `busy ${i}`);
    cluster.append('logs', 1, 'quiet');
    const seen = await takeShown(reader().records(), 50);
    expect(seen).toContain('1@0 quiet');
  });

  test('what is fetched ahead stays within maxBufferedBytes', async () => {
    cluster.createTopic('logs', 2);
    const large = 'x'.repeat(900);
    for (let i = 0; i < 200; i += 1) cluster.append('logs', i % 2, large);
    const consumer = reader({
      maxBufferedBytes: 20_000,
      maxBytes: 4_000,
      maxPartitionBytes: 8_000,
    });
    const records = consumer.records();
    await take(records, 1);
    await sleep(clock, 3_000);
    const ahead = cluster.attempts.reduce((max, { offset }) => Math.max(max, offset), 0);
    expect(ahead * 2 * 900).toBeLessThan(30_000);
    expect(await take(records, 199)).toHaveLength(199);
  });

  test('an unknown topic, an unknown partition: one clear error', async () => {
    cluster.createTopic('logs', 1);
    await expect(take(reader({ topics: ['nothing'] }).records(), 1)).rejects.toMatchObject({
      code: 'UNKNOWN_TOPIC',
    });
    const assign = [{ topic: 'logs', partition: 7 }];
    await expect(take(reader({ assign }).records(), 1)).rejects.toMatchObject({
      code: 'UNKNOWN_PARTITION',
      message: 'topic logs has 1 partitions, there is no partition 7',
    });
  });

  test('wrong options are refused when it is made', () => {
    const wrong: Partial<ConsumerOptions<Uint8Array, string>>[] = [
      { topics: ['logs'], assign: [{ topic: 'logs', partition: 0 }] },
      { assign: [{ topic: 'logs', partition: -1 }] },
      { topics: [] },
      { topics: ['a/b'] },
      { group: 'a/b', topics: ['logs'] },
      { topics: ['logs'], autoCommit: {} },
      { topics: ['logs'], maxBytes: 0 },
      { topics: ['logs'], from: 'nowhere' as 'latest' },
    ];
    for (const options of wrong) {
      expect(() => client.consumer({ value: string(), ...options })).toThrow(TributaryError);
    }
  });
});

describe('when brokers fail', () => {
  test('the leader moves: reading goes on at the new one, nothing twice, nothing missed', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const records = reader().records();
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    cluster.moveLeader('logs', 0, 2);
    cluster.append('logs', 0, 'c');
    expect(await takeShown(records, 2)).toEqual(['0@1 b', '0@2 c']);
    expect(cluster.attempts.at(-1)).toMatchObject({ broker: 2 });
  });

  test('the leader dies without a word: another one is found', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    const records = reader().records();
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    cluster.network.crash('broker-1');
    cluster.moveLeader('logs', 0, 2);
    cluster.append('logs', 0, 'b');
    expect(await takeShown(records, 1)).toEqual(['0@1 b']);
  });

  test('no leader for a while: it waits, then goes on', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    const records = reader().records();
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    cluster.moveLeader('logs', 0, -1);
    const next = take(records, 1);
    await sleep(clock, 12_000);
    cluster.moveLeader('logs', 0, 2);
    cluster.append('logs', 0, 'b');
    expect((await next).map(shown)).toEqual(['0@1 b']);
  });

  test('a broker that answers no fetch is noticed', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    cluster.silent.add(1);
    const next = take(reader().records(), 1);
    await sleep(clock, 1_000);
    cluster.moveLeader('logs', 0, 2);
    expect((await next).map(shown)).toEqual(['0@0 a']);
  });

  test('retriable refusals are retried with backoff, not in a hot loop', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    cluster.refuse = () => new TributaryError('OFFSET_NOT_AVAILABLE', 'not yet');
    const next = take(reader().records(), 1);
    await sleep(clock, 10_000);
    expect(cluster.attempts.length).toBeLessThan(60);
    cluster.refuse = () => undefined;
    expect((await next).map(shown)).toEqual(['0@0 a']);
  });

  test('all partitions fail and heal one by one: none starves behind the long polls of the others', async () => {
    cluster.createTopic('logs', 24); // 12 on each broker, of which 4 fetches may be in flight
    const records = reader().records();
    const next = take(records, 24);
    await sleep(clock, 1_000);
    cluster.refuse = () => new TributaryError('LEADER_NOT_AVAILABLE', 'an election');
    await sleep(clock, 3_000);
    cluster.refuse = () => undefined;
    await sleep(clock, 3_000);
    for (let partition = 0; partition < 24; partition += 1) cluster.append('logs', partition, 'x');
    const read = await Promise.race([next, sleep(clock, 5_000).then(() => 'starved' as const)]);
    expect(read).toHaveLength(24);
  });

  test('the topic is deleted and created again: nothing of the old position applies', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'old a', 'old b');
    const consumer = reader();
    const recreated: string[] = [];
    consumer.on('recreated', ({ topic }) => void recreated.push(topic));
    const records = consumer.records();
    expect(await takeShown(records, 2)).toEqual(['0@0 old a', '0@1 old b']);
    cluster.deleteTopic('logs');
    cluster.createTopic('logs', 2);
    cluster.append('logs', 0, 'new a');
    cluster.append('logs', 1, 'new b');
    expect((await takeShown(records, 2)).sort()).toEqual(['0@0 new a', '1@0 new b']);
    expect(recreated).toEqual(['logs']);
  });

  test('a damaged batch is never delivered; good again, reading goes on', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    cluster.append('logs', 0, 'b');
    const flip = (batch: Buffer): void => void (batch[67]! ^= 0xff);
    cluster.log('logs', 0).damage(1, flip);
    const consumer = reader();
    const records = consumer.records();
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    await expect(records.next()).rejects.toMatchObject({
      code: 'CORRUPT_BATCH',
      details: { topic: 'logs', partition: 0, offset: 1 },
    });
    cluster.log('logs', 0).damage(1, flip);
    expect(await takeShown(consumer.records(), 1)).toEqual(['0@1 b']);
  });
});

describe('positions', () => {
  test('seek forth and back', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b', 'c', 'd');
    const consumer = reader();
    const records = consumer.records();
    await take(records, 1);
    consumer.seek('logs', 0, 3n);
    expect(await takeShown(records, 1)).toEqual(['0@3 d']);
    consumer.seek('logs', 0, 1);
    expect(await takeShown(records, 3)).toEqual(['0@1 b', '0@2 c', '0@3 d']);
    expect(consumer.position('logs', 0)).toBe(4n);
    consumer.seek('logs', 0, 'earliest');
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    expect(() => consumer.seek('logs', 9, 0)).toThrow('logs-9 is not assigned');
    expect(() => consumer.seek('logs', 0, -1)).toThrow('-1 is not an offset');
  });

  test('pause and resume', async () => {
    cluster.createTopic('logs', 2);
    const consumer = reader();
    const records = consumer.records();
    const first = records.next();
    await time.until(() => consumer.assignment().length === 2, 5_000);
    consumer.pause([{ topic: 'logs', partition: 0 }]);
    cluster.append('logs', 0, 'a', 'b');
    await sleep(clock, 1_000);
    cluster.append('logs', 1, 'x', 'y');
    expect(shown(await one(first))).toBe('1@0 x');
    expect(await takeShown(records, 1)).toEqual(['1@1 y']);
    consumer.resume([{ topic: 'logs', partition: 0 }]);
    expect(await takeShown(records, 2)).toEqual(['0@0 a', '0@1 b']);
  });

  test('out of range: reading says so until a seek; the other partitions go on afterwards', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    cluster.append('logs', 0, 'b');
    cluster.append('logs', 0, 'c');
    cluster.log('logs', 0).deleteBefore(2);
    const consumer = reader({ assign: [{ topic: 'logs', partition: 0, offset: 0n }] });
    await expect(take(consumer.records(), 1)).rejects.toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      details: { topic: 'logs', partition: 0, offset: 0 },
    });
    await expect(take(consumer.records(), 1)).rejects.toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
    });
    consumer.seek('logs', 0, 2);
    expect(await takeShown(consumer.records(), 1)).toEqual(['0@2 c']);
  });

  test.each([
    ['earliest', '0@2 c', 2n],
    ['latest', '0@3 d', 3n],
  ] as const)('out of range: %s by policy, and it tells', async (onOutOfRange, next, to) => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b', 'c']) cluster.append('logs', 0, value);
    cluster.log('logs', 0).deleteBefore(2);
    const consumer = reader({ assign: [{ topic: 'logs', partition: 0, offset: 1 }], onOutOfRange });
    const resets: unknown[] = [];
    consumer.on('reset', (event) => void resets.push(event));
    const first = consumer.records().next();
    await time.until(() => resets.length > 0, 5_000);
    cluster.append('logs', 0, 'd');
    expect(shown(await one(first))).toBe(next);
    expect(resets).toEqual([{ topic: 'logs', partition: 0, from: 1n, to }]);
  });

  /** Broker 1 has led with a, b, c, d; broker 2, which has only a and b, is elected, and writes on. */
  function loseTwo(): void {
    cluster.log('logs', 0).truncate(2, 2);
    for (const value of ['x', 'y', 'z']) cluster.append('logs', 0, value);
  }

  test('KIP-320: records that were read and are lost are told, not passed over', async () => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b', 'c', 'd']) cluster.append('logs', 0, value);
    const consumer = reader();
    const records = consumer.records();
    expect(await takeShown(records, 4)).toEqual(['0@0 a', '0@1 b', '0@2 c', '0@3 d']);
    loseTwo();
    await expect(take(records, 1)).rejects.toMatchObject({
      code: 'LOG_TRUNCATED',
      hint: expect.stringContaining('seek'),
      details: { topic: 'logs', partition: 0, offset: 4 },
    });
    consumer.seek('logs', 0, 2);
    expect(await takeShown(consumer.records(), 2)).toEqual(['0@2 x', '0@3 y']);
  });

  test.each(['earliest', 'latest'] as const)('KIP-320: with %s it goes on where the logs part, and tells', async (onOutOfRange) => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b', 'c', 'd']) cluster.append('logs', 0, value);
    const consumer = reader({ onOutOfRange });
    const resets: unknown[] = [];
    consumer.on('reset', (event) => void resets.push(event));
    const records = consumer.records();
    await take(records, 4);
    loseTwo();
    expect(await takeShown(records, 2)).toEqual(['0@2 x', '0@3 y']);
    expect(resets).toEqual([{ topic: 'logs', partition: 0, from: 4n, to: 2n }]);
  }); // prettier-ignore

  test.each(['earliest', 'latest'] as const)('KIP-320: with %s also where the whole epoch of the last record is lost', async (onOutOfRange) => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b']) cluster.append('logs', 0, value);
    cluster.moveLeader('logs', 0, 2);
    for (const value of ['c', 'd']) cluster.append('logs', 0, value);
    const consumer = reader({ onOutOfRange });
    const resets: unknown[] = [];
    consumer.on('reset', (event) => void resets.push(event));
    const records = consumer.records();
    await take(records, 4);
    cluster.log('logs', 0).truncate(2, 1);
    for (const value of ['x', 'y', 'z']) cluster.append('logs', 0, value);
    expect(await takeShown(records, 2)).toEqual(['0@2 x', '0@3 y']);
    expect(resets).toEqual([{ topic: 'logs', partition: 0, from: 4n, to: 2n }]);
  }); // prettier-ignore

  test('KIP-320: what was fetched ahead and not handed out is fetched again, and nobody is told', async () => {
    cluster.createTopic('logs', 1);
    for (const value of ['a', 'b', 'c', 'd']) cluster.append('logs', 0, value);
    const consumer = reader();
    const records = consumer.records();
    expect(await takeShown(records, 1)).toEqual(['0@0 a']);
    await time.until(() => cluster.attempts.some(({ offset }) => offset === 4), 5_000);
    loseTwo();
    await time.until(() => cluster.attempts.at(-1)?.offset === 5, 5_000);
    expect(await takeShown(records, 4)).toEqual(['0@1 b', '0@2 x', '0@3 y', '0@4 z']);
  });

  test('what cannot be deserialized is an error with its place; it can be skipped', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, '1', 'not json', '3');
    const consumer = client.consumer({ topics: ['logs'], value: json<number>() });
    const records = consumer.records();
    expect((await take(records, 1)).map(({ value }) => value)).toEqual([1]);
    const bad = {
      code: 'DESERIALIZATION_FAILED',
      details: { topic: 'logs', partition: 0, offset: 1, field: 'value' },
    };
    await expect(records.next()).rejects.toMatchObject(bad);
    await expect(take(consumer.records(), 1)).rejects.toMatchObject(bad);
    consumer.seek('logs', 0, 2n);
    expect((await take(consumer.records(), 1)).map(({ value }) => value)).toEqual([3]);
  });
});

describe('ending', () => {
  test('close from inside the loop ends it, at once and for good', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b', 'c');
    const consumer = reader();
    const seen: string[] = [];
    const began = clock.now();
    for await (const record of consumer) {
      seen.push(shown(record));
      await consumer.close();
    }
    expect(seen).toEqual(['0@0 a']);
    expect(clock.now() - began).toBeLessThan(1_000);
    await expect(consumer.records().next()).rejects.toMatchObject({ code: 'CLOSED' });
    await consumer.close();
  });

  test('close while it waits for records ends the loop', async () => {
    cluster.createTopic('logs', 1);
    const consumer = reader();
    const loop = consumer.records().next();
    await sleep(clock, 700);
    await consumer.close();
    expect(await loop).toEqual({ done: true, value: undefined });
  });

  test('after closing nothing is left: no timer, no stream', async () => {
    cluster.createTopic('logs', 2);
    const consumer = reader();
    void consumer.records().next();
    await sleep(clock, 700);
    await consumer.close();
    await client.close();
    await sleep(clock, 60_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('stop ends the loop, the consumer stays', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const consumer = reader();
    const seen: string[] = [];
    for await (const record of consumer) {
      seen.push(shown(record));
      await consumer.stop();
    }
    expect(seen).toEqual(['0@0 a']);
    expect(await takeShown(consumer.records(), 1)).toEqual(['0@1 b']);
  });

  test('a signal ends the wait with CANCELLED', async () => {
    cluster.createTopic('logs', 1);
    const abort = new AbortController();
    const next = reader().records({ signal: abort.signal }).next();
    await sleep(clock, 100);
    abort.abort(new Error('enough'));
    await expect(next).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('settings that do not exist, and a topic in place of a list, are refused', () => {
    const misspelt = { fromm: 'latest' } as Partial<ConsumerOptions<Uint8Array, string>>;
    expect(() => reader(misspelt)).toThrow('fromm is not a setting');
    const text = 'logs' as unknown as string[];
    expect(() => client.consumer({ topics: text })).toThrow('topics and assign are lists');
  });

  test('one loop at a time', async () => {
    cluster.createTopic('logs', 1);
    const consumer = reader();
    void consumer.records().next();
    await expect(consumer.records().next()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a group is needed to commit', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a');
    const consumer = reader();
    const [record] = await take(consumer.records(), 1);
    await expect(record!.commit()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(consumer.commit()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('run', () => {
  test('handlers: one at a time per partition, several partitions at once', async () => {
    cluster.createTopic('logs', 2);
    for (let i = 0; i < 10; i += 1) cluster.append('logs', i % 2, `v${i}`);
    const consumer = reader();
    const running = [0, 0];
    let most = 0;
    const seen: string[] = [];
    const work = consumer.run(
      async (record) => {
        running[record.partition]! += 1;
        expect(running[record.partition]).toBe(1);
        most = Math.max(most, running[0]! + running[1]!);
        await sleep(clock, 20);
        running[record.partition]! -= 1;
        seen.push(shown(record));
        if (seen.length === 10) await consumer.stop();
      },
      { concurrency: 4 },
    );
    await work;
    expect(most).toBe(2);
    const own = (partition: string): string[] => seen.filter((text) => text.startsWith(partition));
    expect(own('0@')).toEqual(['0@0 v0', '0@1 v2', '0@2 v4', '0@3 v6', '0@4 v8']);
    expect(own('1@')).toHaveLength(5);
  });

  test('a handler fails: run rejects with its error, and the record comes again', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const consumer = reader();
    const failed = consumer.run((record) => {
      if (record.value === 'b') throw new Error('no b');
    });
    await expect(failed).rejects.toThrow('no b');
    expect(await takeShown(consumer.records(), 1)).toEqual(['0@1 b']);
  });

  test('drain from inside a handler does not wait for that handler', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const consumer = reader();
    const began = clock.now();
    await consumer.run(async () => consumer.drain());
    expect(clock.now() - began).toBeLessThan(1_000);
  });

  test('an abort stops the run after the handlers that run', async () => {
    cluster.createTopic('logs', 1);
    cluster.append('logs', 0, 'a', 'b');
    const abort = new AbortController();
    let done = 0;
    await reader().run(
      async (_record, { signal }) => {
        abort.abort();
        expect(signal.aborted).toBe(true);
        await sleep(clock, 50);
        done += 1;
      },
      { signal: abort.signal },
    );
    expect(done).toBe(1);
  });
});

test('an error of reading is a TributaryError that says what to do', async () => {
  cluster.createTopic('logs', 1);
  const failure: unknown = await take(reader({ from: 'fail' }).records(), 1).catch(
    (e: unknown) => e,
  );
  expect(hasCode(failure, 'OFFSET_OUT_OF_RANGE')).toBe(true);
  expect((failure as TributaryError).hint).toContain('between the log start offset');
});
