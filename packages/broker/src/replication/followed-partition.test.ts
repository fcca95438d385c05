import {
  defaultTopicConfig,
  seededRandom,
  silentLogger,
  TributaryError,
  type Logger,
} from '@tributary/common';
import type { FollowUpInput, Push } from '@tributary/protocol';
import { assignOffsetAndEpoch } from '@tributary/record';
import { MemoryLog, SimulatedClock } from '@tributary/testkit';
import { WaiterBudget } from '../partition/commit-purgatory';
import { Partition } from '../partition/partition';
import { batchOf } from './data-cluster.fixture';
import { defaultDataLimits } from './data-limits';
import { FollowedPartition } from './followed-partition';

const EPOCH = 3;
const config = { ...defaultTopicConfig, segmentBytes: 1e9, maxMessageBytes: 1e6 };

/** A follower of epoch 3 that has attached; what it sends is recorded. */
function followed(
  batches = 2,
  logger: Logger = silentLogger,
): {
  clock: SimulatedClock;
  log: MemoryLog;
  partition: Partition;
  follower: FollowedPartition;
  sent: FollowUpInput[];
  moved: boolean[];
  attachId: () => number;
  push: (overrides?: Partial<Push>) => Push;
  accept: () => void;
} {
  const clock = new SimulatedClock();
  const log = new MemoryLog('t', 'id', 0);
  for (let at = 0; at < batches; at += 1) log.appendAsFollower(batchAt(at));
  const partition = new Partition(log, config, 0, {
    brokerId: 2,
    clock,
    logger: silentLogger,
    budget: new WaiterBudget(10),
    alter: () => undefined,
    failed: () => undefined,
  });
  partition.dispatch({ kind: 'follow', leaderId: 1, leaderEpoch: EPOCH, partitionEpoch: 0 });
  const sent: FollowUpInput[] = [];
  const moved: boolean[] = [];
  let ids = 0;
  const follower = new FollowedPartition(partition, EPOCH, {
    clock,
    random: seededRandom(1),
    logger,
    limits: defaultDataLimits,
    leaderId: 1,
    up: true,
    send: (message) => sent.push(message),
    nextAttachId: () => (ids += 1),
    throttle: undefined,
    creditBytes: 4 * 1024 * 1024,
    move: (_, toCatchUp) => void moved.push(toCatchUp),
    heard: () => undefined,
  });
  follower.attach();
  const attachId = (): number => ids;
  const named = { topicId: 'id', partition: 0, leaderEpoch: EPOCH };
  return {
    clock,
    log,
    partition,
    follower,
    sent,
    moved,
    attachId,
    push: (overrides = {}) => ({
      ...named,
      attachId: attachId(),
      fromOffset: log.logEndOffset,
      batches: batchAt(log.logEndOffset),
      highWatermark: 1,
      logStartOffset: 0,
      leaderLogEndOffset: 99,
      markId: 5,
      ...overrides,
    }),
    accept: () =>
      follower.onAttachResult({
        ...named,
        attachId: attachId(),
        outcome: 'accepted',
        accepted: { fromOffset: log.logEndOffset, highWatermark: 1, logStartOffset: 0 },
      }),
  };
}

function batchAt(offset: number): Buffer {
  const batch = batchOf([`${offset}`]);
  assignOffsetAndEpoch(batch, offset, EPOCH);
  return batch;
}

describe('a followed partition', () => {
  it('attaches with its end and the epoch of its last batch, and takes nothing before it is accepted', () => {
    const f = followed();
    expect(f.sent[0]?.attach).toMatchObject({
      logEndOffset: 2,
      lastEpoch: 3,
      attachId: 1,
      leaderEpoch: 3,
    });
    f.follower.onPush(f.push());
    expect(f.log.logEndOffset).toBe(2);
    f.accept();
    f.follower.onPush(f.push());
    expect(f.log.logEndOffset).toBe(3);
  });

  it('acknowledges its end after the append, with the mark and the credit that it returns', () => {
    const f = followed();
    f.accept();
    const push = f.push();
    f.follower.onPush(push);
    const creditBytes = push.batches.length;
    expect(f.sent.at(-1)?.acknowledge).toMatchObject({ logEndOffset: 3, markId: 5, creditBytes });
  });

  it('drops what repeats another attach id or another epoch', () => {
    const f = followed();
    f.accept();
    const before = f.sent.length;
    f.follower.onPush(f.push({ attachId: 77 }));
    f.follower.onPush(f.push({ leaderEpoch: 2 }));
    const mark = { ...f.push(), attachId: 77, highWatermark: 2 };
    f.follower.onMark(mark);
    f.follower.onDetached({ topicId: 'id', partition: 0, attachId: 77, error: null });
    expect(f.follower.attached).toBe(true);
    expect(f.log.logEndOffset).toBe(2);
    expect(f.partition.state.highWatermark).toBe(1);
    expect(f.sent).toHaveLength(before);
  });

  it('a push that does not continue the log ends the attach, and it attaches with a fresh id', async () => {
    const f = followed();
    f.accept();
    f.follower.onPush(f.push({ fromOffset: 7 }));
    expect(f.sent.at(-1)?.detach).toMatchObject({ attachId: 1 });
    await f.clock.advance(100);
    expect(f.sent.at(-1)?.attach).toMatchObject({ attachId: 2, logEndOffset: 2 });
  });

  it('says in which epoch it goes on when it leaves', () => {
    const f = followed();
    f.accept();
    f.partition.dispatch({ kind: 'follow', leaderId: 3, leaderEpoch: 5, partitionEpoch: 1 });
    f.follower.stop();
    expect(f.sent.at(-1)?.detach).toMatchObject({ attachId: 1, leaderEpoch: 5 });
  });

  it('settles the divergence before it touches the HW (KAFKA-14704)', () => {
    const f = followed(4);
    const answer = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: 1 };
    // Not accepted: what the leader has committed up to there may not be what lies here.
    f.follower.onMark({ ...f.push(), highWatermark: 4 });
    expect(f.partition.state.highWatermark).toBe(0);
    f.follower.onAttachResult({
      ...answer,
      outcome: 'truncate',
      truncate: { epoch: 3, endOffset: 2 },
    });
    expect(f.log.logEndOffset).toBe(2);
    expect(f.partition.state).toMatchObject({ highWatermark: 0, logEndOffset: 2 });
    expect(f.sent.at(-1)?.attach).toMatchObject({ attachId: 2, logEndOffset: 2 });
  });

  it('is cut where the epochs part, not at its HW, which may lag behind what is committed (KAFKA-1211)', () => {
    const f = followed(4);
    expect(f.partition.state.highWatermark).toBe(0);
    const answer = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: 1 };
    const truncate = { epoch: 3, endOffset: 3 };
    f.follower.onAttachResult({ ...answer, outcome: 'truncate', truncate });
    expect(f.log.logEndOffset).toBe(3);
  });

  it('accepted from another offset than its end is not accepted: it attaches anew', async () => {
    const f = followed();
    const answer = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: 1 };
    const accepted = { fromOffset: 1, highWatermark: 1, logStartOffset: 0 };
    f.follower.onAttachResult({ ...answer, outcome: 'accepted', accepted });
    f.follower.onPush(f.push());
    expect(f.partition.state).toMatchObject({ logEndOffset: 2, highWatermark: 0 });
    await f.clock.advance(100);
    expect(f.sent.at(-1)?.attach).toMatchObject({ attachId: 2, logEndOffset: 2 });
  });

  it("starting over at the leader's start takes the HW along (KAFKA-9491)", () => {
    const f = followed();
    const named = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: f.attachId() };
    const truncate = { epoch: -1, endOffset: 50, restartAt: 50 };
    f.follower.onAttachResult({ ...named, outcome: 'truncate', truncate });
    expect(f.log).toMatchObject({ logStartOffset: 50, logEndOffset: 50 });
    expect(f.partition.state).toMatchObject({ highWatermark: 50, logEndOffset: 50 });
  });

  it('an order to cut that cuts nothing is not repeated without end', async () => {
    const f = followed();
    const answer = { topicId: 'id', partition: 0, leaderEpoch: EPOCH };
    for (let round = 0; round < 50; round += 1) {
      f.follower.onAttachResult({
        ...answer,
        attachId: f.attachId(),
        outcome: 'truncate',
        truncate: { epoch: 3, endOffset: 9 },
      });
    }
    expect(f.attachId()).toBe(1);
    await f.clock.advance(100);
    expect(f.attachId()).toBe(2);
  });

  it('after it was stopped, or the role changed, the log is not touched any more (KAFKA-13207)', () => {
    for (const end of ['stop', 'role'] as const) {
      const f = followed();
      f.accept();
      const push = f.push();
      if (end === 'stop') f.follower.stop();
      else f.partition.dispatch({ kind: 'follow', leaderId: 4, leaderEpoch: 4, partitionEpoch: 1 });
      f.follower.onPush(push);
      f.follower.onDetached({ topicId: 'id', partition: 0, attachId: 1, error: null });
      expect(f.log.logEndOffset).toBe(2);
      expect(f.clock.pendingTimers).toBe(0);
    }
  });

  it('a corrupt push appends nothing, and it attaches again', async () => {
    const f = followed();
    f.accept();
    const batches = batchAt(2);
    batches[batches.length - 1]! ^= 1;
    f.follower.onPush(f.push({ batches }));
    expect(f.log.logEndOffset).toBe(2);
    await f.clock.advance(100);
    expect(f.attachId()).toBe(2);
    expect(f.partition.state.role).toBe('follower');
  });

  it('a full disk: it asks again ever more rarely, also when the leader accepts each time, and tells it briefly', async () => {
    const told: unknown[] = [];
    const warn = (message: string, fields?: object): void => void told.push([message, fields]);
    const f = followed(2, { ...silentLogger, warn });
    for (let ms = 0; ms < 20_000; ms += 50) {
      f.accept();
      f.log.failNextAppend = 'DISK_FULL';
      f.follower.onPush(f.push());
      await f.clock.advance(50);
    }
    expect(f.attachId()).toBeLessThan(60);
    expect(told).toHaveLength(2);
    f.log.failNextAppend = undefined;
    await f.clock.advance(1_500);
    f.accept();
    f.follower.onPush(f.push());
    expect(f.log.logEndOffset).toBe(3);
  });

  it('an I/O error takes the replica offline, and nothing is asked any more', async () => {
    const f = followed();
    f.accept();
    f.log.failNextAppend = 'STORAGE_ERROR';
    f.follower.onPush(f.push());
    expect(f.partition.state).toMatchObject({ role: 'offline', failed: true });
    await f.clock.advance(10_000);
    expect(f.attachId()).toBe(1);
  });

  it('waits longer with every refusal, up to a second', async () => {
    const f = followed();
    for (let round = 0; round < 12; round += 1) {
      f.follower.onAttachResult({
        topicId: 'id',
        partition: 0,
        leaderEpoch: EPOCH,
        attachId: f.attachId(),
        outcome: 'error',
        error: {
          code: 'UNKNOWN_LEADER_EPOCH',
          message: '',
          hint: '',
          outcome: 'OUTCOME_UNSPECIFIED',
          leader: null,
        },
      });
      const before = f.attachId();
      await f.clock.runUntil(() => f.attachId() > before, 1_001);
      expect(f.attachId()).toBe(before + 1);
    }
  });
});

describe('a followed partition with flush=sync', () => {
  const acked = ({ sent }: ReturnType<typeof followed>): unknown[] =>
    sent.flatMap(({ acknowledge }) => (acknowledge ? [acknowledge.logEndOffset] : []));
  function synced(batches = 2): ReturnType<typeof followed> {
    const f = followed(batches);
    f.partition.configure({ ...config, flush: 'sync' });
    f.log.holdSyncs();
    return f;
  }

  it('acknowledges after its own sync, and returns the credit then: many pushes, one acknowledgement', () => {
    const f = synced();
    f.accept();
    let bytes = 0;
    for (let push = 0; push < 3; push += 1) {
      bytes += f.push().batches.length;
      f.follower.onPush(f.push());
    }
    expect(f.log.logEndOffset).toBe(5);
    expect(acked(f)).toEqual([]);
    f.log.syncTo(5);
    expect(acked(f)).toEqual([5]);
    expect(f.sent.at(-1)?.acknowledge).toMatchObject({ creditBytes: bytes, markId: 5 });
  });

  it('answers marks with what is on the device, so that its caught-up time is true', () => {
    const f = synced();
    f.accept();
    f.follower.onPush(f.push());
    f.follower.onMark({ ...f.push(), markId: 6 });
    expect(f.sent.at(-1)?.acknowledge).toMatchObject({
      logEndOffset: 2,
      markId: 6,
      creditBytes: 0,
    });
    f.log.syncTo(3);
    expect(f.sent.at(-1)?.acknowledge).toMatchObject({ logEndOffset: 3, markId: 6 });
  });

  it('a log that is not on the device yet when it attaches is acknowledged once it is', () => {
    const f = followed(0);
    f.partition.configure({ ...config, flush: 'sync' });
    f.log.holdSyncs();
    f.log.appendAsFollower(batchAt(0));
    f.follower.attach();
    f.accept();
    f.follower.onMark(f.push());
    expect(acked(f)).toEqual([]);
    f.log.syncTo(1);
    expect(acked(f)).toEqual([1]);
  });

  it('what was synced for an attach that is over is not acknowledged on it', () => {
    const f = synced();
    f.accept();
    f.follower.onPush(f.push());
    f.follower.streamClosed();
    f.log.syncTo(3);
    expect(acked(f)).toEqual([]);
    f.follower.stop();
  });

  it('the setting changes to os: what waits for the device is acknowledged at once', () => {
    const f = synced();
    f.accept();
    f.follower.onPush(f.push());
    f.partition.configure(config);
    expect(acked(f)).toEqual([3]);
  });

  it('a sync that fails in the background takes the replica offline at once', () => {
    const f = synced();
    f.accept();
    f.follower.onPush(f.push());
    f.log.fail(new TributaryError('STORAGE_ERROR', 'EIO'));
    expect(f.partition.state).toMatchObject({ role: 'offline', failed: true });
    f.log.syncTo(3);
    expect(acked(f)).toEqual([]);
  });
});

it('what was cut is cut on the device before the replica attaches again, and nothing is appended meanwhile', async () => {
  const f = followed(4);
  const release = f.log.holdCuts();
  const named = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: f.attachId() };
  const truncate = { epoch: 3, endOffset: 2 };
  f.follower.onAttachResult({ ...named, outcome: 'truncate', truncate });
  await f.clock.advance(5_000);
  expect(f.log.logEndOffset).toBe(2);
  expect(f.attachId()).toBe(1);
  f.accept();
  f.follower.onPush(f.push());
  expect(f.log.logEndOffset).toBe(2);
  release();
  await f.clock.advance(0);
  expect(f.sent.at(-1)?.attach).toMatchObject({ attachId: 2, logEndOffset: 2 });
});

it.each<[string, (follower: FollowedPartition) => void]>([
  ['it was stopped', (follower) => follower.stop()],
  [
    'its stream broke, and it attaches anew',
    (follower) => {
      follower.streamClosed();
      follower.attach();
    },
  ],
])('a cut that is still prepared when %s is not made (KAFKA-13207)', async (_what, happens) => {
  const f = followed(4);
  let prepared: () => void = () => undefined;
  const prepareCut = (): Promise<void> => new Promise((resolve) => (prepared = resolve));
  Object.assign(f.log, { prepareCut });
  const named = { topicId: 'id', partition: 0, leaderEpoch: EPOCH, attachId: f.attachId() };
  f.follower.onAttachResult({
    ...named,
    outcome: 'truncate',
    truncate: { epoch: 3, endOffset: 2 },
  });
  happens(f.follower);
  prepared();
  await f.clock.advance(0);
  expect(f.log.logEndOffset).toBe(4);
});

it('moved to the other stream: nothing of the attach is taken any more, nor sent', () => {
  const { follower, log, sent, moved, push, accept } = followed();
  accept();
  const late = push();
  const { attachId, leaderEpoch } = late;
  const move = { topicId: 'id', partition: 0, leaderEpoch, attachId, toCatchUp: true };
  follower.onMove({ ...move, attachId: attachId - 1 });
  follower.onMove({ ...move, leaderEpoch: leaderEpoch - 1 });
  expect(moved).toEqual([]);
  follower.onMove(move);
  follower.onMove(move);
  expect(moved).toEqual([true]);
  const { length } = sent;
  follower.onPush(late);
  follower.stop();
  expect(log.logEndOffset).toBe(2);
  expect(sent).toHaveLength(length);
});
