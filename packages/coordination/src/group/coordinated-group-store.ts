/**
 * The GroupStore on a Coordinator: used by SDK clients that reach ZooKeeper, and by brokers on behalf of those that do
 * not. A member's lease is the session of the coordinator that it joined through.
 */
import {
  cancelled,
  silentLogger,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
} from '@tributary/common';
import type { Coordinator } from '../coordinator';
import type {
  CommittedOffset,
  GroupDescription,
  GroupMembership,
  GroupPartition,
  GroupStore,
  JoinOptions,
  MemberDescription,
  OffsetCommit,
} from '../group-store';
import { CoordinatedMembership } from './coordinated-membership';
import { encodeMember, groupPaths, memberIdOf, validateGroupName } from './group-layout';
import { GroupReader } from './group-reader';
import { OffsetCommits } from './offset-commits';
import { PartitionClaims } from './partition-claims';

export function createGroupStore(
  coordinator: Coordinator,
  clock: Clock,
  random: Random,
  logger: Logger = silentLogger,
): GroupStore {
  return new CoordinatedGroupStore(coordinator, clock, random, logger);
}

class CoordinatedGroupStore implements GroupStore {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly logger: Logger,
  ) {}

  async join(
    group: string,
    member: MemberDescription,
    options: JoinOptions,
  ): Promise<GroupMembership> {
    validateGroupName(group);
    if (options.signal?.aborted) throw cancelled(options.signal);
    await this.coordinator.ensurePath(groupPaths.members(group));
    const { path, stat } = await this.coordinator.create(
      groupPaths.newMember(group),
      encodeMember(member, this.clock.wallTime()),
      { ephemeral: true, sequential: true },
    );
    const memberId = memberIdOf(path.slice(path.lastIndexOf('/') + 1));
    if (memberId === undefined || stat.ephemeralOwner !== this.coordinator.sessionId) {
      throw new TributaryError('SESSION_EXPIRED', 'the session expired while joining');
    }
    const membership = this.membership(group, memberId);
    if (options.signal?.aborted) {
      await membership.leave();
      throw cancelled(options.signal);
    }
    return membership;
  }

  async list(): Promise<string[]> {
    return (await this.coordinator.children(groupPaths.root)) ?? [];
  }

  async describe(group: string): Promise<GroupDescription> {
    const reader = this.reader(group);
    const [view, owners, offsets] = await Promise.all([
      reader.view(),
      reader.owners(),
      reader.offsets(),
    ]);
    return { group, view, owners, offsets };
  }

  async fetchOffsets(
    group: string,
    partitions?: readonly GroupPartition[],
  ): Promise<CommittedOffset[]> {
    const reader = this.reader(group);
    if (!partitions) return reader.offsets();
    const offsets = await Promise.all(partitions.map((partition) => reader.offset(partition)));
    return offsets.filter((offset) => offset !== undefined);
  }

  async commitOffsets(group: string, commits: readonly OffsetCommit[]): Promise<void> {
    const reader = this.reader(group);
    await new OffsetCommits(this.coordinator, this.clock, reader).commitUnowned(commits);
  }

  private membership(group: string, memberId: string): CoordinatedMembership {
    const { coordinator, clock, random, logger } = this;
    const reader = this.reader(group);
    return new CoordinatedMembership(memberId, {
      coordinator,
      reader,
      claims: new PartitionClaims(coordinator, random, reader, memberId),
      commits: new OffsetCommits(coordinator, clock, reader),
      logger,
    });
  }

  private reader(group: string): GroupReader {
    validateGroupName(group);
    return new GroupReader(this.coordinator, group);
  }
}
