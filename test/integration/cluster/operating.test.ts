/** A person operates a running cluster, through `trib`: real brokers, real connections, an application that goes on. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { string, type PartitionDescription, type TopicDescription } from '@tributary/client';
import { startTestCluster, type TestCluster } from '@tributary/testing';
import { startTrib, trib } from './trib';

let cluster: TestCluster;
let brokers: string[];

beforeAll(async () => {
  cluster = await startTestCluster({ brokers: 4, sessionTimeoutMs: 2_000 });
  brokers = ['--brokers', cluster.brokers.join(',')];
}, 60_000);

afterAll(() => cluster?.close());

async function run(line: string) {
  const { code, stdout, stderr } = await trib([...line.split(' '), ...brokers]);
  return { code, stdout: stdout.toString(), stderr };
}

async function json<T>(line: string): Promise<T> {
  const { code, stdout, stderr } = await run(`${line} -o json`);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

const describeTopic = (topic: string): Promise<TopicDescription> =>
  cluster.client().admin().describeTopic(topic, { offsets: false });

test('settings are changed and partitions added while the topic is in use', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'altered', partitions: 1, replicationFactor: 3 });
  const altered = await json('topic alter altered -p 3 -c retention.ms=5000 -c flush=sync');
  expect(altered).toMatchObject({ partitions: 3, configs: { 'retention.ms': '5000', flush: 'sync' } }); // prettier-ignore
  expect(await json('topic alter altered --remove-config flush')).toMatchObject({
    configs: { 'retention.ms': '5000' },
  });
  const { configs, partitions } = await describeTopic('altered');
  expect([configs, partitions.length]).toEqual([{ 'retention.ms': '5000' }, 3]);
  const producer = client.producer({ value: string() });
  expect(await producer.send('altered', { value: 'x', partition: 2 })).toMatchObject({
    offset: 0n,
  });

  const looked = await run('topic alter altered -c retention.ms=7 --dry-run');
  expect([looked.code, looked.stderr]).toEqual([0, 'nothing was changed (--dry-run)\n']);
  expect((await describeTopic('altered')).configs).toEqual({ 'retention.ms': '5000' });
  expect(await run('topic alter altered -p 2')).toMatchObject({ code: 2 });
  expect(await run('topic alter altered -c nonsense=1')).toMatchObject({ code: 2 });
  expect(await run('topic alter nothing -p 2')).toMatchObject({ code: 3 });
  expect(await run('topic alter altered')).toMatchObject({ code: 2 });
});

test('replicas are moved while records come, and what was acknowledged is there afterwards', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'moved', partitions: 2, replicationFactor: 3 });
  const producer = client.producer({ value: string() });
  const sent: Promise<unknown>[] = [];
  const send = (from: number): void => {
    for (let n = from; n < from + 50; n += 1) {
      sent.push(producer.send('moved', { value: `${n}`, partition: n % 2 }));
    }
  };
  send(0);
  const moving = run('topic reassign moved --replicas 4,1 --wait');
  send(50);
  const { code, stdout, stderr } = await moving;
  expect([code, stderr]).toEqual([0, expect.stringContaining('nothing is being moved any more')]);
  expect(stdout).toMatch(/moved +0 +begun\nmoved +1 +begun/);
  send(100);
  await Promise.all(sent);
  const { partitions } = await describeTopic('moved');
  expect(partitions.map(({ replicas }) => replicas)).toEqual([
    [4, 1],
    [1, 4],
  ]);
  const ends = await client.admin().listOffsets('moved', 'latest');
  expect(ends.map(({ offset }) => offset)).toEqual([75n, 75n]);
  expect(await json('topic reassign moved --status')).toEqual([]);

  const absent = await run('topic reassign moved -p 0 --replicas 4,9');
  expect([absent.code, absent.stderr]).toEqual([3, expect.stringContaining('UNKNOWN_BROKER')]);
  expect(await run('topic reassign moved')).toMatchObject({ code: 2 });
  expect(await run('topic reassign moved --status --cancel')).toMatchObject({ code: 2 });
});

test('the journal tells what was decided, and why', async () => {
  await cluster.client().admin().createTopic({ topic: 'told', partitions: 1 });
  const { decisions } = await json<{ decisions: { who: string; what: string }[] }>(
    'cluster journal -n 1000',
  );
  expect(decisions.some(({ who }) => who.startsWith('told'))).toBe(true);
  const { stdout } = await run('cluster journal -n 2');
  expect(stdout.trim().split('\n')).toHaveLength(2);
});

test('the journal can be followed', async () => {
  const following = startTrib(['cluster', 'journal', '-f', '-n', '1', '--json', ...brokers]);
  while (following.output.length === 0) await once(following.child.stdout, 'data');
  await cluster.client().admin().createTopic({ topic: 'followed', partitions: 1 });
  while (!following.output.toString().includes('followed')) {
    await once(following.child.stdout, 'data');
  }
  following.child.kill('SIGKILL');
  await following.finished;
  const lines = following.output.toString().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)[0]).toHaveProperty('controllerEpoch');
});

test('brokers are listed with what they hold', async () => {
  const listed = await json<{ brokerId: number; registered: boolean }[]>('broker list');
  expect(listed.map(({ brokerId, registered }) => [brokerId, registered])).toEqual(
    [1, 2, 3, 4].map((id) => [id, true]),
  );
  expect(await json('broker describe 4')).toMatchObject({ brokerId: 4, duty: 'in service' });
  const absent = await run('broker drain 9');
  expect([absent.code, absent.stderr]).toEqual([3, expect.stringContaining('there are: 1, 2, 3, 4')]); // prettier-ignore
});

test('a broker is drained, put back, and at last decommissioned', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'spread', partitions: 4, replicationFactor: 3 });
  const drained = await run('broker drain 2 --wait');
  expect([drained.code, drained.stderr]).toEqual([0, expect.stringContaining('broker 2 is drained')]); // prettier-ignore
  expect(await json('broker describe 2')).toMatchObject({ duty: 'drained', leaders: 0 });
  expect(await json('broker return 2 --wait')).toMatchObject({ broker: 2, duty: 'in service' });
  const gone = await run('broker decommission 2 --wait');
  expect([gone.code, gone.stderr]).toEqual([0, expect.stringContaining('it can be stopped for good')]); // prettier-ignore
  expect(await json('broker describe 2')).toMatchObject({ duty: 'decommissioned', replicas: 0 });
  expect(await run('cluster wait')).toMatchObject({ code: 0 });
  const { partitions } = await describeTopic('spread');
  expect(partitions.every(({ replicas }) => replicas.length === 3)).toBe(true);
  await run('broker return 2');
});

test('settings of brokers apply while they run', async () => {
  const setting = 'replication.catch.up.bytes.per.second';
  await json(`broker alter --all -c ${setting}=1000000`);
  expect(await json(`broker alter 3 -c ${setting}=5000000`)).toMatchObject({ broker: 3 });
  expect(await json('broker describe 3')).toMatchObject({ configs: { [setting]: '5000000' } });
  expect(await json('broker describe 1')).toMatchObject({ configs: { [setting]: '1000000' } });
  await json(`broker alter 3 --remove-config ${setting}`);
  expect(await json('broker describe 3')).toMatchObject({ configs: { [setting]: '1000000' } });
  expect(await run('broker alter --all -c broker.id=7')).toMatchObject({ code: 2 });
});

test('a group that nobody used is told apart from an empty one', async () => {
  const { code, stderr } = await run('group describe nobody');
  expect([code, stderr]).toEqual([3, expect.stringContaining('code=UNKNOWN_GROUP')]);
});

test('preferred leaders: given back by command, and nothing to do is no failure', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'turned', partitions: 1, replicationFactor: 3 });
  const [before] = (await describeTopic('turned')).partitions;
  expect(await run(`broker drain ${before!.leader} --wait`)).toMatchObject({ code: 0 });
  expect(await run(`broker return ${before!.leader} --wait`)).toMatchObject({ code: 0 });
  expect(await run('topic elect turned')).toMatchObject({ code: 0 });
  expect((await describeTopic('turned')).partitions[0]?.leader).toBe(before!.leader);
  expect(await json('topic elect turned')).toEqual([]);
  const healthy = await run('topic elect turned -p 0 --unclean');
  expect([healthy.code, healthy.stderr]).toEqual([6, expect.stringContaining('is led by broker')]);
  expect(await run('topic elect turned -p 9 --unclean')).toMatchObject({ code: 3 });
  const refused = await run('topic reassign turned --replicas 99 --throttle 5000000');
  expect(refused.code).toBe(3);
  expect(refused.stderr).not.toContain('on all brokers');
});

test('an unclean election asks first; who had read what is lost is told', async () => {
  const client = cluster.client();
  const configs = { 'min.insync.replicas': '1' };
  await client.admin().createTopic({ topic: 'risky', partitions: 1, configs });
  expect(await run('topic reassign risky --replicas 3,4 --wait')).toMatchObject({ code: 0 });
  const until = async (holds: (partition: PartitionDescription) => boolean) => {
    while (!holds((await describeTopic('risky')).partitions[0]!)) await pause(100);
  };
  await until(({ leader }) => leader === 3);
  const producer = client.producer({ value: string() });
  await producer.send('risky', { value: 'kept' });
  await cluster.kill(4);
  await until(({ isr }) => isr.join() === '3');
  await producer.send('risky', { value: 'lost' });
  const records = client.consumer({ topics: ['risky'], value: string() }).records();
  expect((await records.next()).value).toMatchObject({ value: 'kept' });
  expect((await records.next()).value).toMatchObject({ value: 'lost', offset: 1n });
  await cluster.kill(3);
  await cluster.start(4);
  await until(({ leader }) => leader === undefined);

  const asked = await run('topic elect risky --unclean');
  expect([asked.code, asked.stderr]).toEqual([4, expect.stringContaining('broker 4 could lead risky-0; broker 3 would lose nothing, but is missing')]); // prettier-ignore
  expect(await run('topic elect risky --unclean --yes')).toMatchObject({ code: 0 });
  await until(({ leader }) => leader === 4);
  for (const value of ['new 1', 'new 2']) await producer.send('risky', { value });
  await expect(records.next()).rejects.toMatchObject({
    code: 'LOG_TRUNCATED',
    message: expect.stringContaining('from offset 1 on'),
  });
  await cluster.start(3);
});
