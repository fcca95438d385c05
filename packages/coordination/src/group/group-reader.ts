/**
 * Reads of a group: members, assignment, owners, offsets. Several reads are no snapshot: whatever is decided on them is
 * written by compare-and-set. Used by the store and by memberships.
 */
import type { Coordinator } from '../coordinator';
import type {
  CommittedOffset,
  GroupMember,
  GroupPartition,
  GroupView,
  PartitionOwner,
} from '../group-store';
import {
  decodeAssignment,
  decodeMember,
  decodeOffset,
  decodeOwner,
  groupPaths,
  memberIdOf,
} from './group-layout';

export class GroupReader {
  constructor(
    private readonly coordinator: Coordinator,
    readonly group: string,
  ) {}

  async view(): Promise<GroupView> {
    const members = await this.members();
    const path = groupPaths.assignment(this.group);
    const node = await this.coordinator.get(path);
    if (!node) return { members, generation: -1, assignment: [], assignedBy: undefined };
    const { assignedBy, assignment } = decodeAssignment(path, node.data);
    return { members, generation: node.stat.version, assignment, assignedBy };
  }

  async generation(): Promise<number> {
    const node = await this.coordinator.get(groupPaths.assignment(this.group));
    return node ? node.stat.version : -1;
  }

  /** Member ids are never used again: once gone, gone for ever. */
  async isMember(memberId: string): Promise<boolean> {
    return (await this.coordinator.get(groupPaths.member(this.group, memberId))) !== undefined;
  }

  /** Undefined also when it is of another incarnation of the topic. */
  async offset(partition: GroupPartition): Promise<CommittedOffset | undefined> {
    const found = await this.readOffset(partition);
    return found?.partition.topicId === partition.topicId ? found : undefined;
  }

  async offsets(): Promise<CommittedOffset[]> {
    const places = await this.places((topic) => groupPaths.offsetsOf(this.group, topic), 'offsets');
    const offsets = await Promise.all(places.map((place) => this.readOffset(place)));
    return offsets.filter((offset) => offset !== undefined);
  }

  async owners(): Promise<PartitionOwner[]> {
    const places = await this.places((topic) => groupPaths.ownersOf(this.group, topic), 'owners');
    const owners = await Promise.all(
      places.map(async (place) => {
        const path = groupPaths.owner(this.group, { ...place, topicId: '' });
        const node = await this.coordinator.get(path);
        if (!node) return undefined;
        const { memberId, topicId } = decodeOwner(path, node.data);
        if (memberId === undefined || !(await this.isMember(memberId))) return undefined;
        return { partition: { ...place, topicId }, memberId, ownerEpoch: node.stat.version };
      }),
    );
    return owners.filter((owner) => owner !== undefined);
  }

  private async members(): Promise<GroupMember[]> {
    const names = (await this.coordinator.children(groupPaths.members(this.group))) ?? [];
    const ids = names.map(memberIdOf).filter((id) => id !== undefined);
    const members = await Promise.all(
      ids.sort().map(async (memberId) => {
        const path = groupPaths.member(this.group, memberId);
        const node = await this.coordinator.get(path);
        return node && decodeMember(path, memberId, node.data);
      }),
    );
    return members.filter((member) => member !== undefined); // without those that left meanwhile
  }

  private async readOffset(place: Place): Promise<CommittedOffset | undefined> {
    const path = groupPaths.offset(this.group, { ...place, topicId: '' });
    const node = await this.coordinator.get(path);
    const { topic, partition } = place;
    return node && decodeOffset(path, { topic, partition }, node.data);
  }

  private async places(
    ofTopic: (topic: string) => string,
    kind: 'owners' | 'offsets',
  ): Promise<Place[]> {
    const topics = (await this.coordinator.children(groupPaths[kind](this.group))) ?? [];
    const lists = await Promise.all(
      topics.map(async (topic) => {
        const names = (await this.coordinator.children(ofTopic(topic))) ?? [];
        const numbers = names.map(Number).sort((a, b) => a - b);
        return numbers.map((partition) => ({ topic, partition }));
      }),
    );
    return lists.flat();
  }
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}
