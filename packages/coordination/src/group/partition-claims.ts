/**
 * Claims and releases of one member. The owner node is persistent, so its version only grows: it is the owner epoch.
 *
 * Invariant: a partition passes on only when its owner released it, or its owner's member node is gone; the multi
 * checks the generation and the claimant's own membership at the same time. Then every write of the former owner fails.
 */
import { hasCode, type Random } from '@tributary/common';
import { refusedOperation } from '../controller-writes';
import type { Coordinator, CoordinatorNode, MultiOperation } from '../coordinator';
import { replyWasLost } from '../coordinator-errors';
import type { GroupPartition } from '../group-store';
import { fencedOwner, staleGeneration, unknownMember } from './group-errors';
import { assertGroupPartition, decodeOwner, encodeOwner, groupPaths } from './group-layout';
import type { GroupReader } from './group-reader';

/** Tries against others who write the same node, or replies that get lost. */
const MAX_ATTEMPTS = 20;

export class PartitionClaims {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly random: Random,
    private readonly reader: GroupReader,
    private readonly memberId: string,
  ) {}

  /** Answers the owner epoch. Throws STALE_GENERATION, FENCED_OWNER (`details.owner`), UNKNOWN_MEMBER. */
  async claim(partition: GroupPartition, generation: number): Promise<number> {
    assertGroupPartition(partition);
    const claim = this.random.bytes(12).toString('hex');
    const { topicId } = partition;
    const data = encodeOwner({ topicId, memberId: this.memberId, claim });
    for (let attempt = 1; ; attempt += 1) {
      if ((await this.reader.generation()) !== generation) {
        throw staleGeneration(this.reader.group, generation);
      }
      const node = await this.coordinator.get(this.path(partition));
      const there = node && decodeOwner(this.path(partition), node.data);
      if (node && there?.claim === claim) return node.stat.version; // an attempt whose reply was lost
      await this.refuseIfOwned(partition, node);
      try {
        return await this.write(partition, generation, node, data);
      } catch (error) {
        if (!this.mayTryAgain(error) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  async release(partition: GroupPartition, ownerEpoch: number): Promise<void> {
    assertGroupPartition(partition);
    const { topicId } = partition;
    const claim = `released by ${this.memberId}`;
    const data = encodeOwner({ topicId, memberId: undefined, claim });
    try {
      await this.coordinator.set(this.path(partition), data, ownerEpoch);
    } catch (error) {
      if (hasCode(error, 'BAD_VERSION', 'NO_NODE')) throw fencedOwner(partition, undefined);
      throw error;
    }
  }

  private path(partition: GroupPartition): string {
    return groupPaths.owner(this.reader.group, partition);
  }

  private async refuseIfOwned(
    partition: GroupPartition,
    node: CoordinatorNode | undefined,
  ): Promise<void> {
    const owner = await livingOwner(this.reader, partition, node);
    if (owner !== undefined && owner !== this.memberId) throw fencedOwner(partition, owner);
  }

  private async write(
    partition: GroupPartition,
    generation: number,
    node: CoordinatorNode | undefined,
    data: Buffer,
  ): Promise<number> {
    const { group } = this.reader;
    const path = this.path(partition);
    if (!node) await this.coordinator.ensurePath(groupPaths.ownersOf(group, partition.topic));
    const own: MultiOperation = node
      ? { type: 'set', path, data, version: node.stat.version }
      : { type: 'create', path, data };
    try {
      const results = await this.coordinator.multi([
        { type: 'check', path: groupPaths.assignment(group), version: generation },
        { type: 'check', path: groupPaths.member(group, this.memberId), version: 0 },
        own,
      ]);
      return results[2]?.stat?.version ?? 0; // a new node starts at 0
    } catch (error) {
      const refused = refusedOperation(error);
      if (refused === 0) throw staleGeneration(group, generation);
      if (refused === 1) throw unknownMember(group, this.memberId);
      throw error;
    }
  }

  private mayTryAgain(error: unknown): boolean {
    return refusedOperation(error) === 2 || replyWasLost(error);
  }
}

/** undefined: nobody owns this incarnation of the partition, or who did is no longer a member. */
export async function livingOwner(
  reader: GroupReader,
  partition: GroupPartition,
  node: CoordinatorNode | undefined,
): Promise<string | undefined> {
  if (!node) return undefined;
  const owner = decodeOwner(groupPaths.owner(reader.group, partition), node.data);
  if (owner.topicId !== partition.topicId || owner.memberId === undefined) return undefined;
  return (await reader.isMember(owner.memberId)) ? owner.memberId : undefined;
}
