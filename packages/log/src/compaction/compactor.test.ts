/** Which log is compacted when. */
import { SimulatedClock } from '@tributary/testkit';
import { COMPACTION_RETRY_MS, Compactor } from './compactor';
import { KeyedLog } from './keyed-log.fixture';
import { silentLogger, type TopicConfig } from '@tributary/common';

const clock = new SimulatedClock();
const newCompactor = (): Compactor => new Compactor({ clock, logger: silentLogger });

async function logOf(batches: number, config: Partial<TopicConfig> = {}): Promise<KeyedLog> {
  const keyed = await KeyedLog.open({ minCleanableDirtyRatio: 0.5, ...config });
  fill(keyed, batches);
  return keyed;
}

function fill(keyed: KeyedLog, batches: number): void {
  for (let i = 0; i < batches; i += 1) keyed.append(`k${i % 3}=${'v'.repeat(100)}`);
  keyed.seal();
}

const compacted = (keyed: KeyedLog): number => keyed.log.compaction.compactedTo;

test('the dirtiest log comes first, and all that are due have their turn', async () => {
  const [clean, dirty] = [await logOf(20), await logOf(20)];
  await clean.compact();
  fill(clean, 40); // 40 dirty ones behind some that are clean
  const order: string[] = [];
  const compactor = newCompactor();
  const runOnce = compactor.runOnce.bind(compactor);
  compactor.runOnce = (log) => {
    order.push(log === dirty.log ? 'dirty' : 'clean');
    return runOnce(log);
  };
  compactor.begin([clean.log, dirty.log]);
  await compactor.whenIdle();
  expect(order).toEqual(['dirty', 'clean']);
  expect(compactor.totals).toMatchObject({ passes: 2, failures: 0 });
  expect(compactor.totals.recordsDropped).toBeGreaterThan(50);
  expect(compactor.totals.bytesFreed).toBeGreaterThan(5000);
});

test('a log that is clean enough waits, unless a record waits for too long', async () => {
  const keyed = await logOf(60, { maxCompactionLagMs: 60_000 });
  await keyed.compact();
  // Distinct keys: nothing of it can be dropped, and it is much.
  for (let i = 0; i < 60; i += 1) keyed.append(`distinct${i}=${'v'.repeat(100)}`);
  keyed.seal();
  await keyed.compact();
  const before = compacted(keyed);
  fill(keyed, 5);
  const compactor = newCompactor();
  compactor.begin([keyed.log]);
  await compactor.whenIdle();
  expect(compacted(keyed)).toBe(before);
  await keyed.clock.advance(60_001);
  compactor.begin([keyed.log]);
  await compactor.whenIdle();
  expect(compacted(keyed)).toBeGreaterThan(before);
});

test('records that are written to stay out for no longer than max.compaction.lag.ms: the segment is rolled', async () => {
  const keyed = await KeyedLog.open({ maxCompactionLagMs: 60_000 });
  keyed.append('a=1');
  keyed.append('a=2');
  keyed.log.upkeep.retain();
  expect(keyed.log.compaction.urgency()).toBeUndefined();
  await keyed.clock.advance(60_001);
  keyed.log.upkeep.retain();
  expect(keyed.log.compaction.urgency()).toBeGreaterThan(1);
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=2']);
});

test('records younger than min.compaction.lag.ms are not compacted', async () => {
  const keyed = await KeyedLog.open({ minCompactionLagMs: 5_000 });
  keyed.append('a=1');
  keyed.append('a=2');
  keyed.seal();
  await keyed.clock.advance(4_000);
  keyed.append('b=1');
  expect((await keyed.compact()).status).toBe('nothing');
  await keyed.clock.advance(1_000);
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=2', '4 b=1']);
});

test('a log whose pass fails keeps no other waiting, and rests for a while', async () => {
  const [failing, sound] = [await logOf(60), await logOf(20)];
  failing.disk.failNext('append', { code: 'DISK_FULL', path: '.cleaned' });
  const compactor = newCompactor();
  compactor.begin([failing.log, sound.log]);
  await compactor.whenIdle();
  expect(compacted(sound)).toBeGreaterThan(0);
  expect(compacted(failing)).toBe(0);
  expect(compactor.totals).toMatchObject({ passes: 1, failures: 1 });
  compactor.begin([failing.log]);
  await compactor.whenIdle();
  expect(compacted(failing)).toBe(0);
  await clock.advance(COMPACTION_RETRY_MS);
  compactor.begin([failing.log]);
  await compactor.whenIdle();
  expect(compacted(failing)).toBeGreaterThan(0);
});

test('a log that is offline or closed is passed over', async () => {
  const [offline, closed] = [await logOf(20), await logOf(20)];
  offline.disk.failNext('append');
  expect(() => offline.append('a=1')).toThrow('offline');
  await closed.log.close();
  const compactor = newCompactor();
  compactor.begin([offline.log, closed.log]);
  await compactor.whenIdle();
  expect(compactor.totals).toMatchObject({ passes: 0, failures: 0 });
});

test('stop ends a pass that rests, and no other begins', async () => {
  const keyed = await logOf(20);
  const compactionLimits = { compactionSliceBytes: 100, maxCompactionBytesPerSecond: 1 };
  const compactor = new Compactor({ clock, logger: silentLogger, compactionLimits });
  const pending = clock.pendingTimers;
  compactor.begin([keyed.log]);
  await clock.advance(0);
  expect(clock.pendingTimers).toBe(pending + 1);
  await compactor.stop();
  expect(clock.pendingTimers).toBe(pending);
  expect(compacted(keyed)).toBe(0);
  compactor.begin([keyed.log]);
  await compactor.stop();
  expect(compacted(keyed)).toBe(0);
});
