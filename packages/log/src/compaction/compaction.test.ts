/** Compaction as a reader of the log sees it. */
import { readBatchHeader } from '@tributary/record';
import { KeyedLog } from './keyed-log.fixture';

test('after a pass the last value of each key is left, at its offset', async () => {
  const keyed = await KeyedLog.open();
  keyed.append('a=1', 'b=1', 'a=2');
  keyed.append('c=1');
  keyed.append('b=2', 'c=2');
  keyed.seal();
  keyed.append('a=3');
  expect(await keyed.compact()).toMatchObject({ status: 'done' });
  expect(keyed.records()).toEqual(['2 a=2', '4 b=2', '5 c=2', '8 a=3']);
  expect(keyed.log.logEndOffset).toBe(9);
  expect(await keyed.compact()).toEqual({ status: 'nothing' });
});

test('a log with another policy, or whose settings are not known yet, is left alone', async () => {
  const keyed = await KeyedLog.open({ cleanupPolicy: 'delete' });
  keyed.append('a=1');
  keyed.append('a=2');
  keyed.seal();
  expect(await keyed.compact()).toEqual({ status: 'nothing' });
  keyed.configure({ cleanupPolicy: 'compact,delete' });
  expect(await keyed.compact()).toMatchObject({ status: 'done' });
  expect(keyed.records()).toEqual(['1 a=2']);
});

test('small segments become one', async () => {
  const keyed = await KeyedLog.open();
  for (let i = 0; i < 100; i += 1) keyed.append(`k${i % 7}=${'v'.repeat(50)}${i}`);
  const before = keyed.files().length;
  const { log } = keyed;
  await keyed.compact();
  // Each was full before; now that they are small, the next pass joins them.
  keyed.seal();
  await keyed.compact();
  expect(keyed.files().length).toBeLessThan(before / 2);
  expect(keyed.records().map((record) => record.split('=')[0])).toHaveLength(
    new Set(keyed.records().map((record) => record.split('=')[0])).size,
  );
  const bytes = keyed.batches().reduce((sum, batch) => sum + batch.length, 0);
  expect(log.sizeBytes).toBe(bytes);
  await log.close();
  await keyed.reopen({ recoveryPoint: log.recoveryPoint });
  expect(keyed.log.sizeBytes).toBe(bytes);
});

test('KAFKA-13194: a record that is not committed takes no committed one with it', async () => {
  const keyed = await KeyedLog.open();
  keyed.append('a=committed');
  keyed.seal();
  const { log } = keyed;
  const highWatermark = log.logEndOffset;
  keyed.append('a=lost');
  keyed.seal();
  log.noteHighWatermark(highWatermark);
  await keyed.compact();
  log.truncateTo(highWatermark);
  expect(keyed.records()).toEqual(['0 a=committed']);
});

test('the first batch of a leader epoch stays, emptied, so that epochs and truncation points stay true', async () => {
  const keyed = await KeyedLog.open();
  keyed.appendBatch({ records: ['a=1'], leaderEpoch: 0 });
  keyed.appendBatch({ records: ['a=2'], leaderEpoch: 3 });
  keyed.appendBatch({ records: ['b=1'], leaderEpoch: 3 });
  keyed.appendBatch({ records: ['a=3', 'b=2'], leaderEpoch: 3 });
  keyed.seal();
  const ends = [0, 1, 2, 3].map((epoch) => keyed.log.epochEnd(epoch));
  await keyed.compact();
  expect(keyed.records()).toEqual(['3 a=3', '4 b=2']);
  const shown = keyed.headers().map((header) => `${header.baseOffset} e${header.leaderEpoch}`);
  expect(shown.slice(0, 3)).toEqual(['0 e0', '1 e3', '3 e3']);
  expect([0, 1, 2, 3].map((epoch) => keyed.log.epochEnd(epoch))).toEqual(ends);
});

test('the last batches of a producer stay, emptied, so that a retry is known on every replica', async () => {
  const keyed = await KeyedLog.open();
  for (let i = 0; i < 8; i += 1) {
    keyed.appendBatch({ records: [`a=${i}`], producer: [7, 0, i] });
  }
  keyed.append('a=9');
  keyed.seal();
  await keyed.compact();
  expect(keyed.records()).toEqual(['8 a=9']);
  const ofProducer = keyed.headers().filter(({ producerId }) => producerId === 7);
  expect(ofProducer.map(({ baseSequence, recordsCount }) => [baseSequence, recordsCount])).toEqual(
    [0, 3, 4, 5, 6, 7].map((sequence) => [sequence, 0]), // 0 is the first of its leader epoch
  );

  const follower = await KeyedLog.open();
  for (const batch of keyed.batches()) follower.log.appendAsFollower(batch);
  const again = { records: ['a=5'], producer: [7, 0, 5] } as const;
  const end = follower.log.logEndOffset;
  expect(follower.appendBatch(again)).toBe(5);
  expect(follower.log.logEndOffset).toBe(end);
  follower.appendBatch({ records: ['a=10'], producer: [7, 0, 8] });
  expect(follower.log.logEndOffset).toBe(end + 1);
});

test('a batch from which nothing is dropped is the same bytes, the others keep their codec', async () => {
  const keyed = await KeyedLog.open();
  keyed.appendBatch({ records: ['a=1', 'b=1'], codec: 'gzip' });
  keyed.appendBatch({ records: ['b=2', 'c=1'], codec: 'gzip' });
  keyed.seal();
  const [, before] = keyed.batches();
  await keyed.compact();
  const [first, after] = keyed.batches();
  expect(after!.equals(before!)).toBe(true);
  expect(readBatchHeader(first!)).toMatchObject({ codec: 'gzip', recordsCount: 1, lastOffset: 1 });
});

test('a tombstone outlives the value that it deletes by delete.retention.ms, and goes then', async () => {
  const keyed = await KeyedLog.open();
  keyed.append('a=1');
  keyed.append('a=');
  keyed.append('b=1');
  keyed.seal();
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=', '2 b=1']);
  expect(keyed.headers().find(({ baseOffset }) => baseOffset === 1)?.hasDeleteHorizon).toBe(true);

  await keyed.clock.advance(10_000);
  keyed.seal();
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=', '2 b=1']);

  await keyed.clock.advance(1_001);
  keyed.seal();
  await keyed.compact();
  expect(keyed.records()).toEqual(['2 b=1']);
});

test('records without a key that are there, from before the policy, are dropped', async () => {
  const keyed = await KeyedLog.open({ cleanupPolicy: 'delete' });
  keyed.append('=1', 'a=1');
  keyed.append('=2');
  keyed.seal();
  keyed.configure({ cleanupPolicy: 'compact' });
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=1']);
});

test('a key map that is full ends the pass where it is; the next one goes on there', async () => {
  const keyed = await KeyedLog.open({}, { maxKeyMapBytes: 24 * 8 }); // six keys
  for (let round = 0; round < 2; round += 1) {
    keyed.append(...Array.from({ length: 10 }, (_, i) => `k${i}=${round}`));
  }
  keyed.append('k9=', 'k8=2');
  keyed.seal();
  const tos: number[] = [];
  for (;;) {
    const outcome = await keyed.compact();
    if (outcome.status !== 'done') break;
    tos.push(outcome.result.to);
  }
  expect(tos[0]).toBe(6);
  expect(tos.length).toBeGreaterThan(2);
  expect(keyed.records()).toEqual([
    ...Array.from({ length: 8 }, (_, i) => `${10 + i} k${i}=1`),
    '20 k9=',
    '21 k8=2',
  ]);
});

test('what a truncation lets be written anew is dirty again', async () => {
  const keyed = await KeyedLog.open();
  keyed.append('a=1');
  keyed.append('b=1');
  keyed.seal();
  await keyed.compact();
  const { log } = keyed;
  expect(log.compaction.compactedTo).toBeGreaterThan(1);
  log.truncateTo(1);
  expect(log.compaction.compactedTo).toBe(1);
  keyed.append('a=2');
  keyed.seal();
  await keyed.compact();
  expect(keyed.records()).toEqual(['1 a=2']);
});

test('after a restart the checkpoint tells what is clean; without one all is compacted once more', async () => {
  const keyed = await KeyedLog.open();
  keyed.append('a=1');
  keyed.seal();
  await keyed.compact();
  const { compactedTo } = keyed.log.compaction;
  await keyed.log.close();
  const { recoveryPoint } = keyed.log;
  await keyed.reopen({ recoveryPoint, compactedTo });
  expect(await keyed.compact()).toEqual({ status: 'nothing' });
  await keyed.log.close();
  await keyed.reopen({ recoveryPoint });
  expect(await keyed.compact()).toMatchObject({ status: 'done', result: { from: 0 } });
  expect(keyed.records()).toEqual(['0 a=1']);
});

test('what recovery finds after a compaction has no hole, also when nothing is known of the recovery point', async () => {
  const keyed = await KeyedLog.open();
  for (let i = 0; i < 60; i += 1) keyed.append(`k=${'v'.repeat(40)}${i}`);
  keyed.seal();
  await keyed.compact();
  const { logEndOffset } = keyed.log;
  const before = keyed.batches().map((batch) => batch.toString('hex'));
  await keyed.log.close();
  await keyed.reopen({ recover: true, recoveryPoint: 0 });
  expect(keyed.log).toMatchObject({ logEndOffset, cutBytes: 0 });
  expect(keyed.batches().map((batch) => batch.toString('hex'))).toEqual(before);
});
