/**
 * One member of a group: an ephemeral node under `/consumers/G/ids`, gone with its session. Made by the store's `join`.
 *
 * Invariant: `lost` is told once, and never after `leave`.
 */
import { hasCode, type Logger } from '@tributary/common';
import { refusedOperation } from '../controller-writes';
import type { Coordinator, MultiOperation, Watch } from '../coordinator';
import { replyWasLost } from '../coordinator-errors';
import type {
  GroupMembership,
  GroupPartition,
  GroupView,
  MemberAssignment,
  OwnedOffsetCommit,
  PartitionOwnership,
} from '../group-store';
import { staleGeneration, unknownMember } from './group-errors';
import { encodeAssignment, groupPaths } from './group-layout';
import type { GroupReader } from './group-reader';
import type { OffsetCommits } from './offset-commits';
import type { PartitionClaims } from './partition-claims';

/** Refused partitions whose release is watched for; others are found at the next change. */
export const maxAwaitedReleases = 200;
const MAX_ATTEMPTS = 20;

export interface MembershipParts {
  readonly coordinator: Coordinator;
  readonly reader: GroupReader;
  readonly claims: PartitionClaims;
  readonly commits: OffsetCommits;
  readonly logger: Logger;
}

export class CoordinatedMembership implements GroupMembership {
  private ended: 'no' | 'left' | 'lost' = 'no';
  /** It left, and its node is gone. */
  private forgotten = false;
  private readonly changeListeners = new Set<() => void>();
  private readonly lossListeners = new Set<() => void>();
  private readonly watches: Watch[] = [];
  private readonly awaited = new Map<string, Watch>();

  constructor(
    readonly memberId: string,
    private readonly parts: MembershipParts,
  ) {
    const { coordinator } = parts;
    const { group } = parts.reader;
    const changed = (): void => this.tellChange();
    this.watches.push(
      coordinator.onSession((event) => {
        if (event.type === 'expired') this.lose();
      }),
      coordinator.watchData(groupPaths.member(group, memberId), (node) => {
        if (!node) this.lose();
      }),
      coordinator.watchChildren(groupPaths.members(group), changed),
      coordinator.watchData(groupPaths.assignment(group), changed),
    );
  }

  read(): Promise<GroupView> {
    return this.parts.reader.view();
  }

  onChange(listener: () => void): Watch {
    return subscribe(this.changeListeners, listener);
  }

  onLost(listener: () => void): Watch {
    if (this.ended === 'lost') queueMicrotask(listener);
    return subscribe(this.lossListeners, listener);
  }

  async assign(
    expectedGeneration: number,
    assignment: readonly MemberAssignment[],
  ): Promise<number> {
    this.checkMembership();
    const { coordinator, reader } = this.parts;
    const path = groupPaths.assignment(reader.group);
    const data = encodeAssignment({ assignedBy: this.memberId, assignment });
    const write: MultiOperation =
      expectedGeneration < 0
        ? { type: 'create', path, data }
        : { type: 'set', path, data, version: expectedGeneration };
    const member = groupPaths.member(reader.group, this.memberId);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await coordinator.multi([{ type: 'check', path: member, version: 0 }, write]);
        return expectedGeneration + 1;
      } catch (error) {
        const refused = refusedOperation(error);
        if (refused === 0) throw unknownMember(reader.group, this.memberId);
        if (refused !== undefined) throw staleGeneration(reader.group, expectedGeneration);
        if (!replyWasLost(error) || attempt >= MAX_ATTEMPTS) throw error;
        await coordinator.barrier();
        const now = await coordinator.get(path);
        if (now?.stat.version === expectedGeneration + 1 && now.data.equals(data)) {
          return expectedGeneration + 1; // the lost attempt was applied
        }
      }
    }
  }

  async claim(partition: GroupPartition, generation: number): Promise<PartitionOwnership> {
    this.checkMembership();
    const path = groupPaths.owner(this.parts.reader.group, partition);
    try {
      const ownerEpoch = await this.parts.claims.claim(partition, generation);
      this.awaited.get(path)?.stop();
      this.awaited.delete(path);
      // After the claim: no commit of the former owner can follow any more.
      const committed = await this.parts.reader.offset(partition);
      return { ownerEpoch, committed };
    } catch (error) {
      if (hasCode(error, 'FENCED_OWNER')) this.awaitRelease(path);
      throw error;
    }
  }

  release(partition: GroupPartition, ownerEpoch: number): Promise<void> {
    return this.parts.claims.release(partition, ownerEpoch);
  }

  commit(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]> {
    return this.parts.commits.commit(commits);
  }

  async leave(): Promise<void> {
    if (this.ended === 'lost' || this.forgotten) return;
    // After a failure the node is still there: leaving again tries again.
    if (this.ended === 'no') this.end('left');
    const { coordinator, reader } = this.parts;
    try {
      await coordinator.remove(groupPaths.member(reader.group, this.memberId));
    } catch (error) {
      // Gone with its session, or going with the client.
      if (!hasCode(error, 'NO_NODE', 'SESSION_EXPIRED', 'CLOSED')) throw error;
    }
    this.forgotten = true;
  }

  private checkMembership(): void {
    if (this.ended !== 'no') throw unknownMember(this.parts.reader.group, this.memberId);
  }

  /** A release is a change of the owner node; a death shows among the members anyway. */
  private awaitRelease(path: string): void {
    if (this.ended !== 'no' || this.awaited.has(path)) return;
    if (this.awaited.size >= maxAwaitedReleases) return;
    this.awaited.set(
      path,
      this.parts.coordinator.watchData(path, () => this.tellChange()),
    );
  }

  private tellChange(): void {
    if (this.ended === 'no') this.call(this.changeListeners);
  }

  private lose(): void {
    if (this.ended !== 'no') return;
    const listeners = [...this.lossListeners];
    this.end('lost');
    this.call(listeners);
  }

  private end(how: 'left' | 'lost'): void {
    this.ended = how;
    for (const watch of [...this.watches, ...this.awaited.values()]) watch.stop();
    this.awaited.clear();
    this.changeListeners.clear();
    this.lossListeners.clear();
  }

  private call(listeners: Iterable<() => void>): void {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        this.parts.logger.error('a listener of a group membership threw', { error });
      }
    }
  }
}

function subscribe(listeners: Set<() => void>, listener: () => void): Watch {
  listeners.add(listener);
  return { stop: () => void listeners.delete(listener) };
}
