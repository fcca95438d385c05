/** A compacted partition with replicas, each of which compacts on its own. */
import type { LogDirectory } from '@tributary/log';
import { BatchBuilder, decodeBatch, readBatchHeader, splitBatches } from '@tributary/record';
import { TOPIC_ID } from './data-cluster.fixture';
import { DiskWorld } from './disk-world.fixture';

const IDS = [1, 2, 3];
const KEYS = 12;

const configs = {
  'cleanup.policy': 'compact',
  'segment.bytes': '2048',
  'min.cleanable.dirty.ratio': '0',
  'delete.retention.ms': '1000',
};

let w: DiskWorld;
let sent: Map<string, string>;

beforeEach(async () => {
  w = await DiskWorld.of(IDS);
  sent = new Map();
});
afterEach(() => w.close());

/** Values, every fifth one a tombstone, acknowledged by all. */
async function write(leader: number, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const key = `k${(i * 7) % KEYS}`;
    const value = i % 5 === 4 ? null : Buffer.from(`${i}`.padEnd(150, '.'));
    const builder = new BatchBuilder({ codec: 'gzip' });
    const timestamp = w.clock.wallTime();
    builder.append({ key: Buffer.from(key), value, headers: [], timestamp });
    const { error } = await w.within(
      w.cluster.produce(leader, ['-'], { acks: -1, batch: builder.build() }),
    );
    if (error) throw new Error(`${error.code} ${error.message}`);
    if (value) sent.set(key, value.toString());
    else sent.delete(key);
  }
}

function directory(id: number): LogDirectory {
  return w['stores'].get(id) as LogDirectory;
}

function batches(id: number): Buffer[] {
  const log = directory(id).get(TOPIC_ID, 0)!;
  const found: Buffer[] = [];
  for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
    const part = splitBatches(log.read(offset, 1e9, log.logEndOffset));
    found.push(...part);
    offset = readBatchHeader(part.at(-1) as Buffer).lastOffset + 1;
  }
  return found;
}

/** As a reader from the beginning has it at the end. */
function latest(id: number): Map<string, string> {
  const seen = new Map<string, string>();
  for (const record of batches(id).flatMap((batch) => decodeBatch(batch))) {
    const key = record.key?.toString() ?? '';
    if (record.value) seen.set(key, record.value.toString());
    else seen.delete(key);
  }
  return seen;
}

const recordsOf = (id: number): number =>
  batches(id).reduce((sum, batch) => sum + readBatchHeader(batch).recordsCount, 0);

const endOf = (id: number): number => directory(id).get(TOPIC_ID, 0)!.logEndOffset;

const epochsOf = (id: number): unknown[] =>
  [0, 1, 2, 3].map((epoch) => directory(id).get(TOPIC_ID, 0)!.epochEnd(epoch));

/** A round of maintenance in each broker, and the passes that it begins. */
async function compactAll(ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    await w.within(directory(id).maintenance.run());
    await w.within(directory(id).compactor.whenIdle());
  }
}

it('a follower without a log catches up through the gaps, and knows the epochs as the leader does', async () => {
  await w.within(w.cluster.createTopic([[1, 2, 3]], configs));
  w.crash(3);
  await w.within(w.cluster.elect(1, { isr: [1, 2] }));
  await write(1, 60);
  await w.within(w.cluster.elect(2, { isr: [1, 2] }));
  await write(2, 40);
  const whole = recordsOf(2);
  await compactAll([1, 2]);
  await w.clock.advance(2_000);
  await write(2, 20);
  await compactAll([1, 2]);
  expect(recordsOf(2)).toBeLessThan(whole / 2);

  await w.start(3);
  await w.clock.runUntil(() => w.cluster.state().isr.length === 3, 30_000);
  expect(w.isr()).toEqual(IDS);
  for (const id of IDS) {
    expect(endOf(id)).toBe(120);
    expect(latest(id)).toEqual(sent);
    expect(epochsOf(id)).toEqual(epochsOf(2));
  }
  // It has what the leader had: compacted there, not here.
  expect(recordsOf(3)).toBe(recordsOf(2));
  expect(directory(3).compactor.totals.passes).toBe(0);
});

it('replicas that compact on their own, and take turns in leading, agree on every key', async () => {
  await w.within(w.cluster.createTopic([[1, 2, 3]], configs));
  for (const [round, leader] of [1, 2, 3, 1].entries()) {
    await w.within(w.cluster.elect(leader, { isr: IDS }));
    await write(leader, 40);
    // Not all at the same time.
    await compactAll(IDS.filter((id) => (id + round) % 2 === 0));
    await w.clock.advance(1_500);
  }
  await compactAll(IDS);
  for (const id of IDS) {
    expect(directory(id).compactor.totals.passes).toBeGreaterThan(1);
    expect(endOf(id)).toBe(160);
    expect(latest(id)).toEqual(sent);
    expect(recordsOf(id)).toBeLessThan(60);
    expect(epochsOf(id)).toEqual(epochsOf(1));
  }
});

it('a compacted replica that returns cuts what it alone had, and goes on', async () => {
  await w.within(w.cluster.createTopic([[1, 2, 3]], configs));
  await write(1, 40);
  await compactAll(IDS);
  w.crash(2);
  w.crash(3);
  for (let i = 0; i < 5; i += 1) {
    const builder = new BatchBuilder({ codec: 'none' });
    const timestamp = w.clock.wallTime();
    builder.append({ key: Buffer.from('k1'), value: Buffer.from('lost'), headers: [], timestamp });
    await w.within(w.cluster.produce(1, ['-'], { acks: 1, batch: builder.build() }));
  }
  w.crash(1);
  await w.start(2);
  await w.start(3);
  await w.within(w.cluster.elect(3, { isr: [2, 3] }));
  await write(3, 40);
  await compactAll([2, 3]);
  await w.start(1);
  await w.clock.runUntil(() => w.cluster.state().isr.length === 3, 30_000);
  await compactAll([1]);
  for (const id of IDS) {
    expect(endOf(id)).toBe(80);
    expect(latest(id)).toEqual(sent);
  }
});
