import { DiskWorld } from './disk-world.fixture';

const IDS = [1, 2, 3];

it('all brokers killed at once and started again: nothing acknowledged is lost, all logs are the same bytes', async () => {
  const w = await DiskWorld.of(IDS);
  await w.within(w.cluster.createTopic([[1, 2, 3]]));
  const values = Array.from({ length: 40 }, (_, at) => `${at} ${'x'.repeat(300)}`);
  for (const value of values) await w.produce(1, value);
  for (const id of IDS) w.crash(id);
  for (const id of IDS) await w.start(id);
  await w.within(w.cluster.elect(2));
  await w.produce(2, 'after');
  await w.clock.advance(2_000);
  for (const id of IDS) expect(w.values(id)).toEqual([...values, 'after']);
  await w.close();
});

it('a returning leader cuts what it alone had, across segments, and becomes the same bytes', async () => {
  const w = await DiskWorld.of(IDS);
  await w.within(w.cluster.createTopic([[1, 2, 3]]));
  await w.produce(1, 'a');
  w.crash(2);
  w.crash(3);
  for (const value of Array.from({ length: 30 }, (_, at) => `${at} ${'y'.repeat(400)}`)) {
    await w.produce(1, value, 1);
  }
  w.crash(1);
  for (const id of [2, 3]) await w.start(id);
  await w.within(w.cluster.elect(3, { isr: [2, 3] }));
  await w.produce(3, 'b');
  await w.start(1);
  await w.clock.runUntil(() => w.cluster.state().isr.length === 3, 10_000);
  for (const id of IDS) expect(w.values(id)).toEqual(['a', 'b']);
  await w.close();
});
