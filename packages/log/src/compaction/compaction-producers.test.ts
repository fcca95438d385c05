/** With cleanup.policy `compact,delete`: what is known of producers whose batches retention has deleted. */
import { seededRandom } from '@tributary/common';
import { KeyedLog } from './keyed-log.fixture';

const policy = { cleanupPolicy: 'compact,delete' as const };

/** Three sealed segments; producer 7 wrote into the first one, producer 8 into the second one. */
async function prepare(): Promise<{ keyed: KeyedLog; bases: number[] }> {
  const keyed = await KeyedLog.open(policy);
  for (const producerId of [7, 8, -1]) {
    const producer = producerId < 0 ? undefined : ([producerId, 0, 0] as const);
    keyed.appendBatch({ records: [`p${producerId}=1`], producer });
    keyed.seal();
  }
  await keyed.log.flush();
  return { keyed, bases: keyed.log['state'].segments.all.map(({ baseOffset }) => baseOffset) };
}

async function deleteBefore({ log }: KeyedLog, offset: number): Promise<void> {
  log.deleteRecordsBefore(offset);
  await log.upkeep.flushWhatStays();
  while (log.upkeep.removeObsoleteSegment());
  log.upkeep.ensureSnapshot();
}

/** The recovery point that had been stored is `recoveryPoint`. */
async function reopenAfterCrash(keyed: KeyedLog, loseUnsynced: boolean, recoveryPoint: number) {
  const logStartOffset = keyed.log.logStartOffset;
  await keyed.disk.syncDirectory('/data/orders-0');
  keyed.disk.crash({ loseUnsynced, random: seededRandom(1) });
  await keyed.reopen({ recover: true, recoveryPoint, logStartOffset });
}

function isKnown(keyed: KeyedLog, producerId: number): boolean {
  const states = [...keyed.log['state'].producers.states.entries];
  return states.some((entry) => entry.producerId === producerId);
}

describe.each([false, true])('a crash, unsynced bytes are lost: %s', (loseUnsynced) => {
  test('retention, then compaction: the snapshot at the first segment stays', async () => {
    const { keyed, bases } = await prepare();
    await deleteBefore(keyed, bases[1]!);
    expect((await keyed.compact()).status).toBe('done');
    await reopenAfterCrash(keyed, loseUnsynced, bases[1]!);
    expect([7, 8].map((id) => isKnown(keyed, id))).toEqual([true, true]);
  });

  test('compaction, then retention: the snapshot at the new first segment is made anew', async () => {
    const { keyed, bases } = await prepare();
    await deleteBefore(keyed, bases[1]!);
    keyed.append('later=1');
    keyed.seal();
    expect((await keyed.compact()).status).toBe('done');
    const second = keyed.log['state'].segments.all[1]!.baseOffset;
    expect(second).toBeGreaterThan(bases[1]!);
    await deleteBefore(keyed, second);
    expect(keyed.log['state'].segments.first.baseOffset).toBe(second);
    await reopenAfterCrash(keyed, loseUnsynced, bases[1]!);
    expect([7, 8].map((id) => isKnown(keyed, id))).toEqual([true, true]);
  });
});

test('the log begins anew while retention reads what goes: no snapshot of the old history is made', async () => {
  const { keyed } = await prepare();
  expect((await keyed.compact()).status).toBe('done');
  const { log } = keyed;
  const second = log['state'].segments.all[1]!.baseOffset;
  log.deleteRecordsBefore(second);
  const flushed = log.upkeep.flushWhatStays();
  log.restartAt(100);
  await expect(flushed).rejects.toMatchObject({ code: 'CLOSED' });
  expect(log.failure).toBeUndefined();
  expect(keyed.disk.list('/data/orders-0').filter((name) => name.endsWith('.snapshot'))).toEqual(
    [],
  );
});
