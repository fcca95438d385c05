import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import type { FollowDown, FollowUpInput, StreamHandlers } from '@tributary/protocol';
import { MemoryLog, SimulatedClock } from '@tributary/testkit';
import { WaiterBudget } from '../partition/commit-purgatory';
import { Partition } from '../partition/partition';
import { CatchUpThrottle } from './catch-up-throttle';
import { defaultDataLimits } from './data-limits';
import { FollowerLink } from './follower-link';

/** A link to leader 1 on which partitions 0, 1 and 2 are followed, all of them accepted. */
function link(): { sent: FollowUpInput[]; receive: (message: object) => void } {
  const clock = new SimulatedClock();
  const sent: FollowUpInput[] = [];
  let handlers: StreamHandlers<FollowDown> | undefined;
  const stream = {
    handle: (given: StreamHandlers<FollowDown>) => (handlers = given),
    send: (message: FollowUpInput) => sent.push(message),
    end: () => undefined,
    cut: () => undefined,
  };
  let attachId = 0;
  const followerLink = new FollowerLink(1, 'replication', {
    ...{ clock, random: seededRandom(1), logger: silentLogger, limits: defaultDataLimits },
    transport: { connect: () => ({ open: () => stream, close: () => undefined }) } as never,
    target: () => ({ address: { host: 'leader', port: 1 }, brokerEpoch: 1 }),
    hello: () => ({}),
    nextAttachId: () => (attachId += 1),
    throttle: new CatchUpThrottle(clock, undefined, false),
    move: () => undefined,
  });
  for (const number of [0, 1, 2]) {
    const context = { brokerId: 2, clock, logger: silentLogger, budget: new WaiterBudget(1) };
    const log = new MemoryLog('t', 'id', number);
    const rest = { alter: () => undefined, failed: () => undefined };
    const partition = new Partition(log, defaultTopicConfig, 0, { ...context, ...rest });
    partition.dispatch({ kind: 'follow', leaderId: 1, leaderEpoch: 0, partitionEpoch: 0 });
    followerLink.follow(partition, 0);
  }
  const receive = (message: object): void => handlers?.onMessage(message);
  receive({ hello: {} });
  const accepted = { fromOffset: 0, highWatermark: 0, logStartOffset: 0 };
  for (const number of [0, 1, 2]) receive({ attached: { ...where(number), accepted } });
  sent.length = 0;
  return { sent, receive };
}

const where = (partition: number): object => ({
  ...{ topicId: 'id', partition, leaderEpoch: 0, attachId: partition + 1 },
});

const marks = (...partitions: number[]): object[] =>
  partitions.map((partition) => ({
    ...where(partition),
    ...{ highWatermark: 0, leaderLogEndOffset: 0, markId: 7, logStartOffset: 0 },
  }));

test('marks that may be answered together are, in one message', () => {
  const { sent, receive } = link();
  receive({ marks: { marks: marks(0, 1, 2), together: true } });
  expect(sent).toHaveLength(1);
  expect(sent[0]?.acknowledges?.acknowledges).toMatchObject([
    { partition: 0, attachId: 1, markId: 7 },
    { partition: 1, attachId: 2, markId: 7 },
    { partition: 2, attachId: 3, markId: 7 },
  ]);
});

test('a single one is answered as ever, and so are all of a leader that does not know better', () => {
  const { sent, receive } = link();
  receive({ marks: { marks: marks(1), together: true } });
  receive({ marks: { marks: marks(0, 2), together: false } });
  expect(sent.map(({ acknowledge }) => acknowledge?.partition)).toEqual([1, 0, 2]);
});
