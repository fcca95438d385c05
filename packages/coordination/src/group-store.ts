/**
 * The GroupStore port: membership, assignment, ownership and offsets of consumer groups. Two
 * implementations with one contract suite: on a Coordinator (this package) and on `group.proto` of any
 * broker (client package; the broker's side of it uses the first one).
 *
 * Rules (design section 8): the lowest member id assigns; an assignment is written by compare-and-set on
 * the generation. Fencing is per ownership: each claim of a partition gets a higher owner epoch, and
 * release, commit need the current one. A partition is claimed only once its last owner has released it, or
 * is no longer a member. A rebalance fences nobody whose partitions stay.
 */
import type { Watch } from './coordinator';

export interface GroupPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

export interface MemberDescription {
  readonly clientId: string;
  readonly host: string;
  readonly topics: readonly string[];
  /** In order of preference. */
  readonly assignors: readonly string[];
}

export interface GroupMember extends MemberDescription {
  readonly memberId: string;
}

export interface MemberAssignment {
  readonly memberId: string;
  readonly partitions: readonly GroupPartition[];
}

export interface GroupView {
  /** Sorted by member id (order of joining). */
  readonly members: readonly GroupMember[];
  /** -1: never assigned. */
  readonly generation: number;
  readonly assignment: readonly MemberAssignment[];
  /** Member that wrote it; undefined when there is none. */
  readonly assignedBy: string | undefined;
}

export interface CommittedOffset {
  readonly partition: GroupPartition;
  /** Next offset to read. */
  readonly offset: number;
  /** Of the last consumed record; -1: unknown. */
  readonly leaderEpoch: number;
  readonly metadata: string;
  /** ms since the epoch. */
  readonly committedAt: number;
}

export interface OffsetCommit {
  readonly partition: GroupPartition;
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly metadata: string;
}

export interface OwnedOffsetCommit extends OffsetCommit {
  readonly ownerEpoch: number;
}

export interface PartitionOwnership {
  readonly ownerEpoch: number;
  readonly committed: CommittedOffset | undefined;
}

export interface PartitionOwner {
  readonly partition: GroupPartition;
  readonly memberId: string;
  readonly ownerEpoch: number;
}

export interface GroupDescription {
  readonly group: string;
  readonly view: GroupView;
  readonly owners: readonly PartitionOwner[];
  readonly offsets: readonly CommittedOffset[];
}

export interface GroupStore {
  join(group: string, member: MemberDescription, options: JoinOptions): Promise<GroupMembership>;
  list(): Promise<string[]>;
  describe(group: string): Promise<GroupDescription>;
  /** Those that have one. `partitions` undefined: all. Offsets of another topic id are left out. */
  fetchOffsets(group: string, partitions?: readonly GroupPartition[]): Promise<CommittedOffset[]>;
  /** Without membership. Throws FENCED_OWNER while one of the partitions has a living owner. */
  commitOffsets(group: string, commits: readonly OffsetCommit[]): Promise<void>;
}

export interface JoinOptions {
  /** How long membership survives silence. The store may grant another value. */
  readonly leaseMs: number;
  readonly signal?: AbortSignal;
}

export interface GroupMembership {
  readonly memberId: string;
  read(): Promise<GroupView>;
  /** A hint that members or assignment changed, or that a partition was released: read again. */
  onChange(listener: () => void): Watch;
  /** Membership ended without `leave` (lease ran out, session expired): join again. Called once. */
  onLost(listener: () => void): Watch;
  /** Compare-and-set on the generation; answers the new one. Throws STALE_GENERATION. */
  assign(expectedGeneration: number, assignment: readonly MemberAssignment[]): Promise<number>;
  /**
   * Throws STALE_GENERATION when `generation` is not the current one, FENCED_OWNER (retriable by waiting:
   * `details.owner`) while another member owns it.
   */
  claim(partition: GroupPartition, generation: number): Promise<PartitionOwnership>;
  /** Throws FENCED_OWNER when another owner epoch is current. */
  release(partition: GroupPartition, ownerEpoch: number): Promise<void>;
  /** Per partition: undefined, or FENCED_OWNER. Atomic per partition, not across them. */
  commit(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]>;
  /** Ends membership at once. Does not release partitions: do that first. Idempotent. */
  leave(): Promise<void>;
}
