import type { AddedReplica, OngoingReassignment } from '@tributary/client';
import { moveProgress, progressTexts } from './move-progress';

const MiB = 1024 * 1024;
const copied: AddedReplica = {
  ...{ brokerId: 4, inSync: false, unknown: undefined },
  progress: {
    ...{ endOffset: 60n, leaderEndOffset: 100n, bytes: 1_229 * MiB, leaderBytes: 2_048 * MiB },
    ...{ bytesPerSecond: 48 * MiB, throttleBytesPerSecond: undefined },
  },
};
const done: AddedReplica = { ...copied, brokerId: 5, inSync: true };
const dark: AddedReplica = { ...copied, brokerId: 6, progress: undefined, unknown: 'no answer' };

function move(...adding: AddedReplica[]): OngoingReassignment {
  const replicas = adding.map(({ brokerId }) => brokerId);
  return { topic: 'orders', topicId: 'id', partition: 0, replicas, adding, removing: [1] };
}

test('what a new replica has, what is missing, and how fast it comes', () => {
  expect(progressTexts([copied, done])).toEqual([
    '4: 1.2 GiB of 2.0 GiB, 48.0 MiB/s, 40 offsets behind',
    '5: in sync',
  ]);
});

test('the throttle is named where it bounds the replica', () => {
  const progress = copied.progress && { ...copied.progress, throttleBytesPerSecond: 50 * MiB };
  expect(progressTexts([{ ...copied, progress }])).toEqual([
    '4: 1.2 GiB of 2.0 GiB, 48.0 MiB/s (throttle 50.0 MiB/s of this leader), 40 offsets behind',
  ]);
});

test('what the leader does not tell is unknown, and why', () => {
  expect(progressTexts([dark])).toEqual(['6: unknown (no answer)']);
});

test('a move: who is in sync, who catches up and how far that is, who leaves then', () => {
  expect(moveProgress([move(copied, done)])).toEqual({
    done: false,
    lines: ['orders-0: 1 of 2 new replicas in sync, brokers 4 catch up, then 1 leave'],
    details: ['4: 1.2 GiB of 2.0 GiB, 48.0 MiB/s, 40 offsets behind'],
  });
  expect(moveProgress([move(done)])).toMatchObject({ done: false, details: [''] });
  expect(moveProgress([])).toMatchObject({ done: true });
});
