/**
 * The SDK and the command line asked for what cannot be: the same codes as on the wire, at once where they can tell by
 * themselves, and what is right in the same producer goes through.
 */
import type { ErrorCode } from '@tributary/common';
import type { ConsumerOptions, Producer, ProducerRecord } from '@tributary/client';
import { trib, type Finished } from '../cluster/trib';
import type { BadInputCluster } from './bad-input-cluster';
import { expectRefused } from './refusal';

interface Misuse<Request> {
  readonly what: string;
  readonly request: Request;
  readonly code: ErrorCode;
  readonly says: RegExp;
}

const topic = 'mine';
const value = Buffer.from('v');

// prettier-ignore
const records: readonly Misuse<{ topic?: string; record: ProducerRecord }>[] = [
  { what: 'to an unknown topic', request: { topic: 'nowhere', record: { value } }, code: 'UNKNOWN_TOPIC', says: /topic nowhere does not exist/ },
  { what: 'to a topic name that is a path', request: { topic: '../x', record: { value } }, code: 'INVALID_TOPIC', says: /topic name "..\/x"/ },
  { what: 'over the limit of its topic', request: { record: { value: Buffer.alloc(1_100_000) } }, code: 'RECORD_TOO_LARGE', says: /1100\d\d\d bytes for topic mine is over the limit/ },
  { what: 'over the limit of every topic', request: { record: { value: Buffer.alloc(2 ** 26) } }, code: 'RECORD_TOO_LARGE', says: /over the limit of 67108864 bytes/ },
  { what: 'to the partition after the last', request: { record: { value, partition: 3 } }, code: 'UNKNOWN_PARTITION', says: /topic mine has 3 partitions, there is no partition 3/ },
  { what: 'to a negative partition', request: { record: { value, partition: -1 } }, code: 'UNKNOWN_PARTITION', says: /no partition -1/ },
  { what: 'to half a partition', request: { record: { value, partition: 0.5 } }, code: 'UNKNOWN_PARTITION', says: /no partition 0.5/ },
  { what: 'of an impossible time', request: { record: { value, timestamp: -5 } }, code: 'INVALID_TIMESTAMP', says: /timestamp -5/ },
  { what: 'of the far future', request: { record: { value, timestamp: 9_000_000_000_000 } }, code: 'INVALID_TIMESTAMP', says: /timestamp 9000000000000 .* this machine's clock/ },
];

// prettier-ignore
const readings: readonly Misuse<ConsumerOptions>[] = [
  { what: 'an unknown topic', request: { topics: ['nowhere'] }, code: 'UNKNOWN_TOPIC', says: /topic nowhere does not exist/ },
  { what: 'the partition after the last', request: { assign: [{ topic, partition: 3 }] }, code: 'UNKNOWN_PARTITION', says: /partition 3/ },
  { what: 'an offset beyond the end', request: { assign: [{ topic, partition: 0, offset: 1_000_000n }] }, code: 'OFFSET_OUT_OF_RANGE', says: /offset 1000000 is not between/ },
  { what: 'in a group whose name is a path', request: { group: 'a/b', topics: [topic] }, code: 'INVALID_ARGUMENT', says: /group name "a\/b"/ },
  { what: 'a negative partition', request: { assign: [{ topic, partition: -1 }] }, code: 'INVALID_ARGUMENT', says: /-1 is not a partition of topic mine/ },
  { what: 'from a negative offset', request: { assign: [{ topic, partition: 0, offset: -3n }] }, code: 'INVALID_ARGUMENT', says: /-3 is not an offset/ },
  { what: 'from an offset that no log reaches', request: { assign: [{ topic, partition: 0, offset: 2n ** 63n }] }, code: 'INVALID_ARGUMENT', says: /9223372036854775808 is not an offset/ },
];

interface Command {
  readonly args: readonly string[];
  readonly input?: string;
  readonly exitCode: number;
  readonly code: ErrorCode;
}

// prettier-ignore
const commands: readonly Command[] = [
  { args: ['produce', 'nowhere', '--timeout', '3000'], input: 'one line\n', exitCode: 3, code: 'UNKNOWN_TOPIC' },
  { args: ['consume', 'nowhere', '--exit-at-end', '--timeout', '3000'], exitCode: 3, code: 'UNKNOWN_TOPIC' },
  { args: ['produce', topic, '--partition', '3'], input: 'one line\n', exitCode: 3, code: 'UNKNOWN_PARTITION' },
  { args: ['produce', topic], input: 'x'.repeat(1_100_000), exitCode: 2, code: 'RECORD_TOO_LARGE' },
  { args: ['topic', 'create', 'a/b'], exitCode: 2, code: 'INVALID_TOPIC' },
];

export function describeMisuseOfClients(house: () => BadInputCluster): void {
  let producer: Producer;
  let finished: Promise<Finished>[];

  beforeAll(async () => {
    await house().createTopic(topic, 3);
    // Nothing below may wait for the linger: what can be refused at once is.
    producer = house().client.producer({ deliveryTimeoutMs: 10_000 });
    const brokers = ['--brokers', house().cluster.addresses.join(',')];
    finished = commands.map(({ args, input }) =>
      trib([...args, ...brokers], Buffer.from(input ?? '')),
    );
  });

  afterAll(() => Promise.all(finished));

  test.each(records)('sending a record $what', async ({ request, code, says }) => {
    const good = producer.send(topic, { value, partition: 0 });
    await expectRefused(producer.send(request.topic ?? topic, request.record), code, says);
    await expect(good).resolves.toMatchObject({ topic, partition: 0 });
  });

  test('a record over the limit is refused before its batch is sent, with its outcome', async () => {
    const patient = house().client.producer({ lingerMs: 60_000 });
    const small = patient.send(topic, { value, partition: 1 });
    const large = patient.send(topic, { value: Buffer.alloc(1_100_000), partition: 1 });
    await expect(large).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE', outcome: 'not written' });
    await patient.flush();
    await expect(small).resolves.toMatchObject({ partition: 1 });
    await patient.close();
  });

  test.each(readings)('reading $what', async ({ request, code, says }) => {
    async function readOne(): Promise<unknown> {
      const consumer = house().client.consumer(request);
      try {
        for await (const record of consumer) return record.offset.toString();
        return undefined;
      } finally {
        await consumer.close();
      }
    }
    await expectRefused(readOne(), code, says);
  });

  test('asking for a topic or a group whose name is a path', async () => {
    const admin = house().client.admin();
    await expectRefused(admin.deleteTopic('a/b'), 'INVALID_TOPIC', /"a\/b"/);
    await expectRefused(admin.describeTopic('../x'), 'INVALID_TOPIC', /"..\/x"/);
    await expectRefused(admin.describeGroup('a/b'), 'INVALID_ARGUMENT', /group name "a\/b"/);
  });

  test.each(commands.map((command, i) => ({ ...command, i, line: command.args.join(' ') })))(
    'trib $line exits with $exitCode and says why in three lines',
    async ({ i, exitCode, code }) => {
      const { code: exited, stdout, stderr } = await finished[i]!;
      expect(stderr).toMatch(new RegExp(`error: .+\\nhint: .+\\ncode=${code}\\n$`));
      expect([exited, stdout.toString()]).toEqual([exitCode, '']);
    },
  );
}
