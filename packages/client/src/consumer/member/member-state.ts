/**
 * The words of the member machine: what a group member is, what may happen to it, what it wants done. Pure
 * data; `member-machine.ts` holds the rules, `member-driver.ts` does what they ask.
 *
 *   joining --joined--> watching <--> assigning        (assigning: this member is making an assignment)
 *      ^                    |  |
 *      |  joinFailed, lost  |  close
 *      +------ lost <-------+  +--> leaving --left--> left
 *
 * Beside the phase, each partition that is assigned or still held has a slot:
 *
 *   claiming --claimed--> owned --no longer assigned--> releasing --released--> (gone)
 *      |  ^                                                |  ^
 *      v  | retryAt, or any news of the group              v  | retryAt
 *     waiting (its last owner still has it)            unreleased (the release did not get through)
 */
import type { TributaryError } from '@tributary/common';
import type {
  GroupPartition,
  GroupView,
  MemberAssignment,
  PartitionOwnership,
} from '@tributary/coordination';
import type { TopicPartitions } from './range-assignor';

export type MemberPhase = 'joining' | 'watching' | 'assigning' | 'lost' | 'leaving' | 'left';

export type Slot = { readonly partition: GroupPartition } & (
  | { readonly status: 'claiming'; readonly attempt: number }
  | { readonly status: 'waiting'; readonly attempt: number; readonly retryAt: number }
  | { readonly status: 'owned'; readonly ownerEpoch: number }
  | { readonly status: 'releasing'; readonly ownerEpoch: number; readonly attempt: number }
  | {
      readonly status: 'unreleased';
      readonly ownerEpoch: number;
      readonly attempt: number;
      readonly retryAt: number;
    }
);

export interface MemberState {
  readonly phase: MemberPhase;
  /** Counts memberships. What belongs to an earlier one is ignored when it arrives. */
  readonly incarnation: number;
  /** Set from joined to lost or left. */
  readonly memberId: string | undefined;
  readonly view: GroupView | undefined;
  /** At most one read is under way; news that come meanwhile ask for another one after it. */
  readonly reading: 'no' | 'yes' | 'again';
  /** When to read next without news; after a failure soon, else as a safety net. */
  readonly readAt: number;
  /** Phase lost: when to join again. */
  readonly joinAt: number;
  /** Failures in a row of join, read and assignment; each success clears it. */
  readonly failures: number;
  /** Since when the members differ from those of the assignment; undefined: they do not. */
  readonly unassignedSince: number | undefined;
  /** No new assignment before this: set after a failed one. */
  readonly assignNotBefore: number;
  /** When the lowest member compares the assignment with the topics' partitions again. */
  readonly checkTopicsAt: number;
  /** A reader met another topic id than it was assigned: any member may check the topics now. */
  readonly topicsChanged: boolean;
  readonly leaveAsked: boolean;
  /** By topic id and partition. */
  readonly slots: ReadonlyMap<string, Slot>;
}

/** Events that answer an effect carry the incarnation for which it was done. */
export type MemberEvent =
  | ({ readonly incarnation: number } & MembershipEvent)
  | { readonly type: 'tick' }
  | { readonly type: 'topicsChanged' }
  | { readonly type: 'close' }
  | { readonly type: 'closeExpired' };

export type MembershipEvent =
  | { readonly type: 'joined'; readonly memberId: string }
  | { readonly type: 'joinFailed'; readonly error: TributaryError }
  | { readonly type: 'changed' }
  | { readonly type: 'viewRead'; readonly view: GroupView }
  | { readonly type: 'readFailed' }
  | { readonly type: 'topicsRead'; readonly partitions: TopicPartitions }
  | { readonly type: 'topicsFailed' }
  | { readonly type: 'assigned' }
  /** stale: somebody else assigned meanwhile. */
  | { readonly type: 'assignFailed'; readonly stale: boolean }
  | {
      readonly type: 'claimed';
      readonly partition: GroupPartition;
      readonly ownership: PartitionOwnership;
    }
  | {
      readonly type: 'claimFailed';
      readonly partition: GroupPartition;
      readonly reason: 'owned' | 'stale' | 'failed';
    }
  | { readonly type: 'released'; readonly partition: GroupPartition }
  | {
      readonly type: 'releaseFailed';
      readonly partition: GroupPartition;
      /** Somebody else owns it: nothing is left to release. */
      readonly fenced: boolean;
    }
  /** A commit was refused. */
  | { readonly type: 'fenced'; readonly partition: GroupPartition; readonly ownerEpoch: number }
  | { readonly type: 'lost' }
  | { readonly type: 'left' };

export type MemberEffect =
  | { readonly type: 'join' }
  | { readonly type: 'read' }
  | { readonly type: 'readTopics'; readonly topics: readonly string[] }
  | {
      readonly type: 'assign';
      readonly expectedGeneration: number;
      readonly assignment: readonly MemberAssignment[];
    }
  | { readonly type: 'claim'; readonly partition: GroupPartition; readonly generation: number }
  /** It is ours: begin to consume. */
  | {
      readonly type: 'take';
      readonly partition: GroupPartition;
      readonly ownership: PartitionOwnership;
    }
  /** Stop consuming, tell the user, commit, then release in the store. */
  | { readonly type: 'revoke'; readonly partition: GroupPartition; readonly ownerEpoch: number }
  /** The same partition's release once more. */
  | { readonly type: 'release'; readonly partition: GroupPartition; readonly ownerEpoch: number }
  /** Not ours any more, nothing can be committed: stop consuming at once. */
  | { readonly type: 'drop'; readonly partitions: readonly GroupPartition[] }
  | { readonly type: 'leave' }
  /** Joining cannot succeed: tell the user. */
  | { readonly type: 'fail'; readonly error: TributaryError };

export interface MemberOptions {
  /** After this long without an assignment that fits the members, any member may assign. */
  readonly rebalanceTimeoutMs: number;
  /** How often the lowest member compares with the topics' partitions; also the longest time without reading the group. */
  readonly checkTopicsMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
}

/** The moment of a step: the clock's time, and a number in [0, 1) that spreads its retries. */
export interface Moment {
  readonly now: number;
  readonly jitter: number;
}

export interface Step {
  readonly state: MemberState;
  readonly effects: readonly MemberEffect[];
}
