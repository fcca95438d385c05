import { defaultTopicConfig, silentLogger, type TributaryError } from '@tributary/common';
import { MemoryLog, SimulatedClock } from '@tributary/testkit';
import { WaiterBudget } from '../partition/commit-purgatory';
import { Partition } from '../partition/partition';
import { batchOf } from './data-cluster.fixture';
import { LeaderAttach } from './leader-attach';

/** Broker 1 leads with ten batches; broker 2 has attached at 0. */
async function attached(
  creditBytes: number,
  maxPushBytes = 1e6,
): Promise<{
  partition: Partition;
  attach: LeaderAttach;
  ended: TributaryError[];
  size: number;
}> {
  const clock = new SimulatedClock();
  const log = new MemoryLog('t', 'id', 0);
  const partition = new Partition(
    log,
    { ...defaultTopicConfig, segmentBytes: 1e9, maxMessageBytes: 1e6 },
    0,
    {
      brokerId: 1,
      clock,
      logger: silentLogger,
      budget: new WaiterBudget(10),
      alter: () => undefined,
      failed: () => undefined,
    },
  );
  await partition.becomeLeader({
    brokerId: 1,
    leaderEpoch: 0,
    partitionEpoch: 0,
    isr: [1, 2],
    replicas: [1, 2],
    brokers: new Map(),
    settings: { minInsyncReplicas: 1, replicaLagTimeMaxMs: 10_000, flush: 'os' },
  });
  for (let at = 0; at < 10; at += 1) partition.append(batchOf([`${at}`]), undefined);
  const ended: TributaryError[] = [];
  const attach = new LeaderAttach(
    partition,
    {
      topic: 't',
      topicId: 'id',
      partition: 0,
      leaderEpoch: 0,
      attachId: 1,
      logEndOffset: 0,
      lastEpoch: -1,
      logStartOffset: 0,
      creditBytes,
    },
    {
      brokerId: 2,
      brokerEpoch: 20,
      kind: 'replication',
      maxPushBytes,
      now: () => clock.now(),
      ready: () => undefined,
      readDone: () => undefined,
      progressed: () => undefined,
      news: () => undefined,
      ended: (_, error) => ended.push(error),
    },
  );
  partition.attach(attach, 20);
  return { partition, attach, ended, size: batchOf(['0']).length };
}

const named = { topicId: 'id', partition: 0, leaderEpoch: 0, attachId: 1, logStartOffset: 0 };

describe("a follower's attach at the leader", () => {
  it('pushes up to its credit, and goes on when credit comes back', async () => {
    const { attach, size, partition } = await attached(400, 300);
    let pushed = 0;
    while (attach.hasMore) {
      const push = attach.nextPush()!;
      expect(push.fromOffset).toBe(pushed / size);
      pushed += (push.batches as Buffer).length;
    }
    expect(pushed).toBeGreaterThanOrEqual(400);
    expect(pushed).toBeLessThanOrEqual(400 + size);
    const logEndOffset = pushed / size;
    attach.acknowledged({ ...named, logEndOffset, markId: 1, creditBytes: pushed });
    expect(attach.hasMore).toBe(logEndOffset < 10);
    expect(partition.state.highWatermark).toBe(logEndOffset);
  });

  it('the bytes that are pushed are the bytes of the log', async () => {
    const { attach, partition } = await attached(1e6);
    const { batches, leaderLogEndOffset } = attach.nextPush()!;
    expect((batches as Buffer).equals((partition.log as MemoryLog).content)).toBe(true);
    expect(leaderLogEndOffset).toBe(10);
    expect(attach.hasMore).toBe(false);
  });

  it('an acknowledgement of what was never pushed, or of less than before, ends it', async () => {
    const beyond = await attached(1e6);
    beyond.attach.acknowledged({ ...named, logEndOffset: 3, markId: 0, creditBytes: 0 });
    expect(beyond.ended).toMatchObject([{ code: 'INVALID_ARGUMENT' }]);
    expect(beyond.partition.state.highWatermark).toBe(0);

    const back = await attached(1e6);
    back.attach.nextPush();
    back.attach.acknowledged({ ...named, logEndOffset: 10, markId: 1, creditBytes: 0 });
    back.attach.acknowledged({ ...named, logEndOffset: 9, markId: 1, creditBytes: 0 });
    expect(back.ended).toHaveLength(1);
  });

  it('is quiet once the follower has it all and has said so, until there is something new', async () => {
    const { attach, partition } = await attached(1e6);
    expect(attach.isQuiet).toBe(false);
    const push = attach.nextPush()!;
    const answer = (markId: unknown): void =>
      attach.acknowledged({ ...named, logEndOffset: 10, markId: Number(markId), creditBytes: 0 });
    answer(push.markId);
    // The HW that this answer moved is not told yet.
    expect([partition.state.highWatermark, attach.isQuiet]).toEqual([10, false]);
    const mark = attach.mark();
    expect(attach.isQuiet).toBe(false);
    answer(mark.markId);
    expect(attach.isQuiet).toBe(true);
    attach.mark();
    expect(attach.isQuiet).toBe(false);
    answer(attach.mark().markId);
    partition.append(batchOf(['more']), undefined);
    expect(attach.isQuiet).toBe(false);
  });

  it('a newer attach of the same broker ends the older one as stale', async () => {
    const { partition, ended } = await attached(1e6);
    const newer = {
      brokerId: 2,
      brokerEpoch: 20,
      attachId: 2,
      progress: { logEndOffset: 0, bytesBehind: 0, bytesPerSecond: 0, catchingUp: false },
      logMoved: jest.fn(),
      highWatermarkMoved: jest.fn(),
      logStartMoved: jest.fn(),
      end: jest.fn(),
    };
    partition.attach(newer, 20);
    expect(ended).toMatchObject([{ code: 'STALE_ATTACH' }]);
    expect(newer.end).not.toHaveBeenCalled();
  });

  it('ends with the leadership', async () => {
    const { partition, attach, ended } = await attached(1e6);
    partition.resign('told to');
    expect(ended).toMatchObject([{ code: 'NOT_LEADER' }]);
    expect(attach.live).toBe(false);
    expect(attach.hasMore).toBe(false);
  });
});
