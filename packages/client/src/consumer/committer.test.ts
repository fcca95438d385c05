import { Deadline, seededRandom, TributaryError } from '@tributary/common';
import type { OwnedOffsetCommit } from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { Committer, MAX_WAITING_COMMITS } from './committer';

function commit(partition: number, offset: number, ownerEpoch = 1): OwnedOffsetCommit {
  return {
    partition: { topic: 't', topicId: 'T', partition },
    ownerEpoch,
    offset,
    leaderEpoch: 0,
    metadata: '',
  };
}

/** A store in the hands of the test: each write waits for its answer. */
class Rig {
  readonly clock = new SimulatedClock();
  readonly writes: string[] = [];
  readonly fenced: number[] = [];
  answer: (commits: readonly OwnedOffsetCommit[]) => Promise<(Error | undefined)[]> = async (
    commits,
  ) => commits.map(() => undefined);
  readonly committer = new Committer(this.clock, seededRandom(1), {
    write: (commits) => {
      this.writes.push(commits.map((c) => `${c.partition.partition}:${c.offset}`).join(' '));
      return this.answer(commits);
    },
    onFenced: ({ partition }) => void this.fenced.push(partition.partition),
  });

  commit(...commits: OwnedOffsetCommit[]): Promise<void> {
    return this.committer.commit(commits, Deadline.after(this.clock, 5_000));
  }
}

const away = new TributaryError('UNAVAILABLE', 'the broker is away');

describe('the committer', () => {
  test('one write at a time; what comes meanwhile goes together, the last one of each wins', async () => {
    const rig = new Rig();
    let done: (results: undefined[]) => void = () => undefined;
    rig.answer = () => new Promise((resolve) => (done = resolve));
    const first = rig.commit(commit(0, 1));
    await Promise.resolve();
    rig.answer = async (commits) => commits.map(() => undefined);
    const later = [rig.commit(commit(0, 2)), rig.commit(commit(1, 7)), rig.commit(commit(0, 3))];
    await new Promise((resolve) => setImmediate(resolve));
    expect(rig.writes).toEqual(['0:1']);
    done([undefined]);
    await Promise.all([first, ...later]);
    expect(rig.writes).toEqual(['0:1', '0:3 1:7']);
  });

  test('a fenced partition rejects its own commits alone', async () => {
    const rig = new Rig();
    const refusal = new TributaryError('FENCED_OWNER', 'somebody else owns it');
    rig.answer = async (commits) =>
      commits.map((c) => (c.partition.partition === 0 ? refusal : undefined));
    const fenced = rig.commit(commit(0, 1));
    const fine = rig.commit(commit(1, 1));
    await expect(fenced).rejects.toMatchObject({ code: 'FENCED_OWNER' });
    await fine;
    expect(rig.fenced).toEqual([0]);
  });

  test('trouble on the way is tried again until it works', async () => {
    const rig = new Rig();
    let failures = 3;
    rig.answer = async (commits) => {
      if (failures-- > 0) throw away;
      return commits.map(() => undefined);
    };
    await rig.clock.settleWithin(rig.commit(commit(0, 1)), 5_000);
    expect(rig.writes).toHaveLength(4);
  });

  test('... or until its deadline', async () => {
    const rig = new Rig();
    rig.answer = () => Promise.reject(away);
    const failed = rig.commit(commit(0, 1)).catch((thrown: unknown) => thrown);
    expect(await rig.clock.settleWithin(failed, 10_000)).toMatchObject({ code: 'TIMEOUT' });
    await rig.clock.settleWithin(rig.committer.settled(), 5_000);
  });

  test('a lost membership is not tried again', async () => {
    const rig = new Rig();
    rig.answer = () => Promise.reject(new TributaryError('UNKNOWN_MEMBER', 'the lease is over'));
    await expect(rig.commit(commit(0, 1))).rejects.toMatchObject({ code: 'UNKNOWN_MEMBER' });
    expect(rig.writes).toHaveLength(1);
  });

  test('too many at once are refused', async () => {
    const rig = new Rig();
    const many = Array.from({ length: MAX_WAITING_COMMITS + 1 }, (_, i) => commit(i, 1));
    await expect(rig.commit(...many)).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});
