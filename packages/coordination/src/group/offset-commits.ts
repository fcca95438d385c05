/**
 * Commits: for each partition a check of the owner node's version and the offset, in the same multi. Many partitions
 * share one multi; a fenced one is taken out and the others are sent again. With the check a commit may safely be
 * repeated after a lost reply; that is why calls of one member are made one after the other.
 */
import type { Clock } from '@tributary/common';
import { refusedOperation } from '../controller-writes';
import type { Coordinator, MultiOperation } from '../coordinator';
import { replyWasLost } from '../coordinator-errors';
import type { GroupPartition, OffsetCommit, OwnedOffsetCommit } from '../group-store';
import { fencedOwner } from './group-errors';
import { assertGroupPartition, encodeOffset, encodeOwner, groupPaths } from './group-layout';
import type { GroupReader } from './group-reader';
import { livingOwner } from './partition-claims';

export const maxCommitsPerMulti = 100;
const MAX_ROUNDS = maxCommitsPerMulti * 2 + 20;

export class OffsetCommits {
  private queue: Promise<unknown> = Promise.resolve();
  /** Offset nodes that are known to exist. */
  private readonly made = new Set<string>();

  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
    private readonly reader: GroupReader,
  ) {}

  /** One answer per commit: undefined, or FENCED_OWNER. */
  commit(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]> {
    const mine = this.queue.then(() => this.commitAll(commits));
    this.queue = mine.catch(() => undefined); // told to its own caller
    return mine;
  }

  /** Without membership. */
  async commitUnowned(commits: readonly OffsetCommit[]): Promise<void> {
    for (const commit of commits) {
      assertGroupPartition(commit.partition);
      await this.refuseIfOwned(commit.partition);
    }
    for (const commit of commits) await this.commitOneUnowned(commit);
  }

  private async commitAll(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]> {
    const answers: (Error | undefined)[] = commits.map(() => undefined);
    for (let from = 0; from < commits.length; from += maxCommitsPerMulti) {
      const batch = commits
        .slice(from, from + maxCommitsPerMulti)
        .map((commit, index) => ({ commit, index: from + index }));
      await this.commitBatch(batch, answers);
    }
    return answers;
  }

  private async commitBatch(
    batch: readonly { commit: OwnedOffsetCommit; index: number }[],
    answers: (Error | undefined)[],
  ): Promise<void> {
    let left = [...batch];
    for (let round = 1; left.length > 0; round += 1) {
      try {
        const operations = left.map(({ commit }) => this.operations(commit, commit.ownerEpoch));
        await this.coordinator.multi((await Promise.all(operations)).flat());
        return;
      } catch (error) {
        const refused = refusedOperation(error);
        const lost = replyWasLost(error);
        if ((refused === undefined && !lost) || round >= MAX_ROUNDS) throw error;
        if (refused === undefined) continue;
        const culprit = left[Math.floor(refused / 2)];
        if (!culprit) throw error;
        if (refused % 2 === 0) {
          answers[culprit.index] = fencedOwner(culprit.commit.partition, undefined);
          left = left.filter((entry) => entry !== culprit);
        } else {
          // The offset node came or went meanwhile.
          this.made.delete(groupPaths.offset(this.reader.group, culprit.commit.partition));
        }
      }
    }
  }

  /** Two: the check of the owner, and the offset. */
  private async operations(commit: OffsetCommit, ownerEpoch: number): Promise<MultiOperation[]> {
    assertGroupPartition(commit.partition);
    const path = groupPaths.owner(this.reader.group, commit.partition);
    return [{ type: 'check', path, version: ownerEpoch }, await this.offsetOperation(commit)];
  }

  private async offsetOperation(commit: OffsetCommit): Promise<MultiOperation> {
    const { group } = this.reader;
    const path = groupPaths.offset(group, commit.partition);
    const data = encodeOffset(commit, this.clock.wallTime());
    if (!this.made.has(path)) {
      if (!(await this.coordinator.get(path))) {
        await this.coordinator.ensurePath(groupPaths.offsetsOf(group, commit.partition.topic));
        return { type: 'create', path, data };
      }
      this.made.add(path);
    }
    return { type: 'set', path, data, version: undefined };
  }

  private async refuseIfOwned(partition: GroupPartition): Promise<number | undefined> {
    const node = await this.coordinator.get(groupPaths.owner(this.reader.group, partition));
    const owner = await livingOwner(this.reader, partition, node);
    if (owner !== undefined) throw fencedOwner(partition, owner);
    return node?.stat.version;
  }

  private async commitOneUnowned(commit: OffsetCommit): Promise<void> {
    const { group } = this.reader;
    const path = groupPaths.owner(group, commit.partition);
    for (let round = 1; ; round += 1) {
      const version = await this.refuseIfOwned(commit.partition);
      try {
        if (version === undefined) {
          // The owner node is made here, unowned: somebody who claims at this moment has to look again.
          await this.coordinator.ensurePath(groupPaths.ownersOf(group, commit.partition.topic));
          const { topicId } = commit.partition;
          const data = encodeOwner({ topicId, memberId: undefined, claim: 'never owned' });
          await this.coordinator.multi([
            { type: 'create', path, data },
            await this.offsetOperation(commit),
          ]);
        } else {
          await this.coordinator.multi(await this.operations(commit, version));
        }
        return;
      } catch (error) {
        const again = refusedOperation(error) !== undefined || replyWasLost(error);
        if (!again || round >= MAX_ROUNDS) throw error;
        this.made.delete(groupPaths.offset(group, commit.partition));
      }
    }
  }
}
