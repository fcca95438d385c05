import { MemoryLog } from '@tributary/testkit';
import { BatchBuilder, assignOffsetAndEpoch } from '@tributary/record';
import * as fc from 'fast-check';
import { cutFor, divergence, type TruncateTo } from './truncation';

/** A log written as `epoch:count` batches: '1:3 2:2' has offsets 0-2 in epoch 1 and 3-4 in epoch 2. */
function log(text: string): MemoryLog {
  const made = new MemoryLog('t', 'id', 0);
  append(made, text, 'a');
  return made;
}

function append(to: MemoryLog, text: string, value: string): void {
  for (const part of text.split(' ').filter(Boolean)) {
    const [epoch, count] = part.split(':').map(Number) as [number, number];
    const builder = new BatchBuilder({ codec: 'none' });
    for (let at = 0; at < count; at += 1) {
      builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp: 1 });
    }
    const batch = builder.build();
    assignOffsetAndEpoch(batch, to.logEndOffset, epoch);
    to.appendAsFollower(batch);
  }
}

/** The whole exchange; gives what was said, and fails when it does not come to an end. */
function settle(leader: MemoryLog, follower: MemoryLog): TruncateTo[] {
  const said: TruncateTo[] = [];
  for (let round = 0; round < 20; round += 1) {
    const { logEndOffset, lastBatchEpoch: lastEpoch } = follower;
    const answer = divergence(leader, { logEndOffset, lastEpoch });
    if (!answer) return said;
    said.push(answer);
    const cut = cutFor(follower, answer);
    expect(cut.restart || cut.offset < follower.logEndOffset).toBe(true);
    if (cut.restart) follower.restartAt(cut.offset);
    else follower.truncateTo(cut.offset);
  }
  throw new Error('the logs do not come to terms');
}

describe('where two logs part', () => {
  it('a prefix is accepted as it is', () => {
    expect(settle(log('1:3 2:2'), log('1:3'))).toEqual([]);
    expect(settle(log('1:3 2:2'), log('1:3 2:2'))).toEqual([]);
    expect(settle(log('1:3'), log(''))).toEqual([]);
  });

  it('a tail that the leader never had is cut, not what lies above the HW (KAFKA-1211, KIP-101)', () => {
    const follower = log('1:3 1:2');
    expect(settle(log('1:3 2:4'), follower)).toEqual([{ epoch: 1, endOffset: 3 }]);
    expect(follower.logEndOffset).toBe(3);
    // The follower restarted with an HW of 0: everything that the leader has too stays.
    const restarted = log('1:3');
    expect(settle(log('1:3'), restarted)).toEqual([]);
    expect(restarted.logEndOffset).toBe(3);
  });

  it('after a fast double failover the follower lacks the epoch that it is told, and asks again (KAFKA-6361, KIP-279)', () => {
    // Leaders: epoch 1, then 2 (only the leader has it), while this follower led in 3 with other records.
    const leader = log('1:2 2:3 4:1');
    const follower = log('1:2 3:4');
    const said = settle(leader, follower);
    expect(said[0]).toEqual({ epoch: 2, endOffset: 5 });
    expect(follower.logEndOffset).toBe(2);
  });

  it('a follower with a higher epoch than the leader ever had is cut to the common part', () => {
    const follower = log('1:2 5:1');
    settle(log('1:2 4:3'), follower);
    expect(follower.logEndOffset).toBe(2);
  });

  it('a follower that has only later epochs keeps nothing', () => {
    const follower = log('4:1');
    expect(settle(log('3:1'), follower)).toEqual([{ epoch: 3, endOffset: 1 }]);
    expect(follower.logEndOffset).toBe(0);
  });

  it('a log start within a batch: a copy begins with the whole batch, however empty the follower is', () => {
    const leader = log('1:3 1:4 1:2');
    leader.deleteRecordsBefore(5);
    const restart = [{ epoch: -1, endOffset: 3, restartAt: 3 }];
    for (const end of [0, 4, 5, 6]) {
      const empty = log('');
      empty.restartAt(end);
      expect(settle(leader, empty)).toEqual(restart);
    }
    expect(settle(leader, log('1:2'))).toEqual(restart);
    for (const end of [3, 7, 9]) {
      const fitting = log('');
      fitting.restartAt(end);
      expect(settle(leader, fitting)).toEqual([]);
    }
    const ahead = log('');
    ahead.restartAt(10);
    expect(settle(leader, ahead)).toEqual([{ epoch: -1, endOffset: 9 }]);
  });

  it('an epoch that was led without a record leaves no trace that hurts', async () => {
    const follower = log('1:4');
    await follower.assignEpoch(2);
    expect(settle(log('1:4 3:1'), follower)).toEqual([]);
    append(follower, '3:1', 'a');
    expect(follower.epochEnd(3)).toEqual({ epoch: 3, endOffset: 5 });
  });

  it("an end before the leader's start: drop everything and start there (KAFKA-9491, KAFKA-7414)", () => {
    const leader = log('');
    leader.restartAt(50);
    append(leader, '4:2', 'a');
    const follower = log('1:3');
    expect(settle(leader, follower)).toEqual([{ epoch: -1, endOffset: 50, restartAt: 50 }]);
    expect(follower.logStartOffset).toBe(50);
  });

  it('an empty follower that starts above the leader end is set back', () => {
    const follower = log('');
    follower.restartAt(9);
    settle(log('1:3'), follower);
    expect(follower.logEndOffset).toBe(3);
  });
});

it('whatever the histories, the exchange ends with the follower a prefix of the leader, and no common record cut', () => {
  const counts = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 3 })),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(counts, counts, counts, (common, ofLeader, ofFollower) => {
      let epoch = 1;
      const text = (parts: [number, number][], stride: number, from: number): string => {
        epoch = from;
        return parts
          .map(([step, count]) => {
            epoch += step * stride;
            return `${epoch}:${count}`;
          })
          .join(' ');
      };
      const shared = text(common, 2, 2);
      const last = epoch;
      const leader = log(shared);
      const follower = log(shared);
      const sharedEnd = leader.logEndOffset;
      // Odd epochs belong to one, even ones to the other: an epoch has one leader (R8).
      append(leader, text(ofLeader, 2, last + 1), 'leader');
      append(follower, text(ofFollower, 2, last + 2), 'follower');
      settle(leader, follower);
      expect(follower.logEndOffset).toBeGreaterThanOrEqual(sharedEnd);
      const { length } = follower.content;
      expect(leader.content.subarray(0, length).equals(follower.content)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
