/** `trib` in the company of other programs: pipes that close early, scripts that read JSON, members that are killed. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestCluster, type TestCluster } from '@tributary/testing';
import { startTrib, trib } from './trib';

let cluster: TestCluster;
let brokers: string[];

beforeAll(async () => {
  cluster = await startTestCluster({ brokers: 1 });
  brokers = ['--brokers', cluster.brokers.join(',')];
  await topicOf('lines', 10);
}, 60_000);

afterAll(() => cluster?.close());

async function run(line: string, input = '') {
  const { code, stdout, stderr } = await trib([...line.split(' '), ...brokers], Buffer.from(input));
  return { code, stdout: stdout.toString(), stderr };
}

async function topicOf(name: string, lines: number): Promise<void> {
  await cluster.client().admin().createTopic({ topic: name, partitions: 1 });
  const input = Array.from({ length: lines }, (_, i) => `line ${i}\n`).join('');
  expect(await run(`produce ${name}`, input)).toMatchObject({ code: 0 });
}

test.each(['consume lines --exit-at-end', 'topic describe lines', 'topic describe lines -o json'])(
  'a reader of `%s` that has enough may close the pipe',
  async (line) => {
    const cut = startTrib([...line.split(' '), ...brokers]);
    cut.child.stdout.destroy();
    expect(await cut.finished).toMatchObject({ code: 0, stderr: '' });
  },
);

test('what a member has printed is committed before it is killed', async () => {
  await topicOf('shared', 10);
  const member = startTrib(['consume', 'shared', '--group', 'readers', ...brokers]);
  while (member.output.toString().split('\n').length <= 10) await once(member.child.stdout, 'data');
  const admin = cluster.client().admin();
  for (;;) {
    const { partitions } = await admin.describeGroup('readers');
    if (partitions[0]?.committedOffset === 10n) break;
    await pause(100);
  }
  member.child.kill('SIGKILL');
  await member.finished;
});

test('consume reads every codec, produce writes the one that is asked for', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'compressed', partitions: 1 });
  const lineOf = (codec: string): string => `${codec} ${'again and '.repeat(500)}again`;
  for (const codec of ['none', 'gzip', 'snappy', 'lz4'] as const) {
    const producer = client.producer({ codec });
    await producer.send('compressed', { value: Buffer.from(lineOf(codec)) });
    await producer.close();
  }
  const sent = await run('produce compressed --codec zstd', `${lineOf('zstd')}\n`);
  expect(sent).toMatchObject({ code: 0 });
  const { stdout } = await run('consume compressed --exit-at-end');
  expect(stdout).toBe(
    ['none', 'gzip', 'snappy', 'lz4', 'zstd'].map((codec) => `${lineOf(codec)}\n`).join(''),
  );
});

test('where a topic begins, ends and lies in time; trimming it', async () => {
  await topicOf('trimmed', 5);
  const offsets = async (at: string): Promise<string | null | undefined> => {
    const { stdout } = await run(`topic offsets trimmed --at ${at} -o json`);
    return (JSON.parse(stdout) as { offset: string | null }[])[0]?.offset;
  };
  expect(await offsets('start')).toBe('0');
  expect(await offsets('end')).toBe('5');
  expect(await offsets('2020-01-01T00:00Z')).toBe('0');
  expect(await offsets('4000000000000')).toBeNull();
  expect(Number(await offsets('newest'))).toBeLessThan(5);
  const trimmed = await run('topic trim trimmed --before 3 -p 0 -o json');
  expect(JSON.parse(trimmed.stdout)).toEqual([{ partition: 0, startOffset: '3' }]);
  expect((await run('consume trimmed --exit-at-end')).stdout).toBe('line 3\nline 4\n');
  const beyond = await run('topic trim trimmed --before 9 -p 0');
  expect([beyond.code, beyond.stderr]).toEqual([1, expect.stringContaining('5 is committed')]);
  expect(await run('topic trim trimmed --before 3')).toMatchObject({ code: 2 });
  expect(await run('topic trim trimmed --before end')).toMatchObject({ code: 0 });
  expect(await offsets('start')).toBe('5');
});

test('creating a topic that may exist answers with the topic, also as JSON', async () => {
  const create = 'topic create twice --partitions 2 -o json';
  const first = await run(create);
  const second = await run(`${create} --if-not-exists`);
  expect(JSON.parse(first.stdout)).toMatchObject({ topic: 'twice', partitions: 2 });
  expect(second).toMatchObject({ code: 0, stdout: first.stdout });
  expect((await run(create)).code).toBe(4);
});

test('a topic needs a partition', async () => {
  const { code, stderr } = await run('topic create none --partitions 0');
  expect([code, stderr]).toEqual([2, expect.stringContaining('code=INVALID_PARTITIONS')]);
});

test('a failure after some records says how many were written', async () => {
  await topicOf('keyed', 1);
  const { code, stderr } = await run('produce keyed -k :', 'a:1\nb:2\nno key\n');
  expect([code, stderr]).toEqual([
    2,
    'error: line 3 has no key separator; 2 records written before\n' +
      'hint: Everything before the first separator (-k) of a line is its key.\ncode=INVALID_ARGUMENT\n',
  ]);
});

test('a compacted topic: a record without a key is refused with advice, --null writes tombstones', async () => {
  const configs = { 'cleanup.policy': 'compact' };
  await cluster.client().admin().createTopic({ topic: 'latest', partitions: 1, configs });
  const keyless = await run('produce latest', 'no key\n');
  expect([keyless.code, keyless.stderr]).toEqual([2, expect.stringContaining('for example -k :')]);
  expect(await run('produce latest -k : --null -', 'a:1\nb:-\nc:--\n')).toMatchObject({ code: 0 });
  const { stdout } = await run('consume latest --exit-at-end -o ndjson');
  const records = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(records).toMatchObject([
    { key: 'a', value: '1' },
    { key: 'b', value: null },
    { key: 'c', value: '--' },
  ]);
});

test('a group whose offset was trimmed away goes on where --out-of-range says', async () => {
  await topicOf('short', 5);
  const consume = 'consume short --group late --exit-at-end';
  expect((await run(`${consume} -n 1`)).stdout).toBe('line 0\n');
  expect(await run('topic trim short --before 3 -p 0')).toMatchObject({ code: 0 });
  const refused = await run(consume);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--out-of-range')]);
  expect(await run(`${consume} --out-of-range start`)).toMatchObject({
    code: 0,
    stdout: 'line 3\nline 4\n',
  });
});

test('there is no loss to accept where nothing is damaged', async () => {
  const accept = (rest: string) => run(`partition accept-loss lines ${rest}`);
  expect((await accept('0 --broker 1')).stderr).toContain('no loss has to be accepted');
  expect((await accept('0 --broker 9')).stderr).toContain('broker 9 has no replica of lines-0');
  expect(await accept('7 --broker 1')).toMatchObject({ code: 3 });
});

test('a topic that does not exist is told also when there is nothing to write', async () => {
  expect((await run('produce nowhere --timeout 3000')).code).toBe(3);
});

test('a group that does not exist is not found', async () => {
  const { code, stderr } = await run('group describe nobody');
  expect([code, stderr]).toEqual([3, expect.stringContaining('code=UNKNOWN_GROUP')]);
});
