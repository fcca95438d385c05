/**
 * Runs the member machine against a GroupStore: feeds it events one at a time, does its effects, keeps its
 * timer. Holds no rule of its own. Heartbeats are the store's and do not depend on the user's handler.
 * Called by the group session of a consumer.
 */
import {
  hasCode,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type {
  GroupMembership,
  GroupPartition,
  GroupStore,
  MemberDescription,
  OwnedOffsetCommit,
  PartitionOwnership,
  Watch,
} from '@tributary/coordination';
import { CallLimiter } from './call-limiter';
import { nextWakeAt, startMember, stepMember } from './member-machine';
import type {
  MemberEffect,
  MemberEvent,
  MembershipEvent,
  MemberOptions,
  MemberState,
  Step,
} from './member-state';
import type { TopicPartitions } from './range-assignor';

/** Claims and releases under way at once. */
const MAX_PARTITION_CALLS = 16;
/** How long a leave may take after the time for closing is over. */
const LEAVE_GRACE_MS = 300;

export interface MemberHooks {
  /** Partitions of these topics, read fresh; a topic that does not exist is absent. */
  readTopics(topics: readonly string[]): Promise<TopicPartitions>;
  /** Ours now: consume. */
  take(partition: GroupPartition, ownership: PartitionOwnership): void;
  /** Every claim is answered: what was taken since the last time may be told to the user as one. */
  settled(): void;
  /** Stop consuming at once; each promise (in the same order) resolves after the last commit. They never reject. */
  revoke(partitions: readonly GroupPartition[]): Promise<void>[];
  /** Not ours any more: stop at once, nothing can be committed. */
  drop(partitions: readonly GroupPartition[]): void;
  /** Joining cannot succeed. */
  fail(error: TributaryError): void;
}

export interface MemberDriverOptions {
  readonly store: GroupStore;
  readonly group: string;
  readonly description: MemberDescription;
  readonly leaseMs: number;
  readonly machine: MemberOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly hooks: MemberHooks;
}

export class MemberDriver {
  private readonly first: Step;
  private state: MemberState;
  private membership: GroupMembership | undefined;
  private watches: Watch[] = [];
  private timer: Timer | undefined;
  private readonly events: MemberEvent[] = [];
  private stepping = false;
  private readonly calls = new CallLimiter(MAX_PARTITION_CALLS);
  private readonly abortJoin = new AbortController();
  private readonly whenLeft: Promise<void>;
  private markLeft: () => void = () => undefined;

  constructor(private readonly options: MemberDriverOptions) {
    this.whenLeft = new Promise((resolve) => (this.markLeft = resolve));
    this.first = startMember(options.clock.now());
    this.state = this.first.state;
  }

  /** Once. */
  start(): void {
    this.perform(this.first);
  }

  get memberId(): string | undefined {
    return this.state.memberId;
  }

  /** Throws UNKNOWN_MEMBER when there is no membership now. */
  async commit(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]> {
    if (!this.membership) {
      throw new TributaryError('UNKNOWN_MEMBER', `not a member of ${this.options.group} now`);
    }
    return this.membership.commit(commits);
  }

  /** The store refused a commit for this ownership: somebody else has the partition. */
  fenced(partition: GroupPartition, ownerEpoch: number): void {
    const { incarnation } = this.state;
    this.dispatch({ type: 'fenced', partition, ownerEpoch, incarnation });
  }

  /** A topic has another id than was assigned. */
  topicsChanged(): void {
    this.dispatch({ type: 'topicsChanged' });
  }

  /** Revokes, releases and leaves; gives up on the rest after `timeoutMs`. Idempotent. */
  async close(timeoutMs: number): Promise<void> {
    const { clock } = this.options;
    const expire = (): void => {
      this.abortJoin.abort();
      this.dispatch({ type: 'closeExpired' });
    };
    const timers = [timeoutMs, timeoutMs + LEAVE_GRACE_MS].map((ms) => clock.setTimer(ms, expire));
    this.dispatch({ type: 'close' });
    // A join that hangs must not hold up the end: nothing is owned yet.
    if (this.state.phase === 'leaving' && !this.membership) this.abortJoin.abort();
    await this.whenLeft;
    for (const timer of timers) timer.cancel();
  }

  private dispatch(event: MemberEvent): void {
    this.events.push(event);
    if (this.stepping) return;
    this.stepping = true;
    try {
      for (let next = this.events.shift(); next; next = this.events.shift()) {
        const { clock, random } = this.options;
        const moment = { now: clock.now(), jitter: random.next() };
        const step = stepMember(this.state, next, moment, this.options.machine);
        this.logMove(step.state);
        this.state = step.state;
        this.perform(step);
      }
    } finally {
      this.stepping = false;
    }
    this.arm();
  }

  private perform({ state, effects }: Step): void {
    if (state.phase === 'lost' || state.phase === 'left') this.forgetMembership();
    const revoked = effects.filter((effect) => effect.type === 'revoke');
    for (const effect of effects) this.performOne(effect);
    if (revoked.length > 0) {
      const done = this.options.hooks.revoke(revoked.map(({ partition }) => partition));
      revoked.forEach(({ partition, ownerEpoch }, i) => {
        void done[i]?.then(() => this.release(partition, ownerEpoch, state.incarnation));
      });
    }
    if (![...state.slots.values()].some(({ status }) => status === 'claiming')) {
      this.options.hooks.settled();
    }
    if (state.phase === 'left') this.markLeft();
  }

  private performOne(effect: MemberEffect): void {
    const { hooks } = this.options;
    switch (effect.type) {
      case 'join':
        return void this.join();
      case 'read':
        return this.ask(
          (m) => m.read(),
          (view) => ({ type: 'viewRead', view }),
          () => ({ type: 'readFailed' }),
        );
      case 'readTopics':
        return this.ask(
          () => hooks.readTopics(effect.topics),
          (partitions) => ({ type: 'topicsRead', partitions }),
          () => ({ type: 'topicsFailed' }),
        );
      case 'assign':
        return this.ask(
          (m) => m.assign(effect.expectedGeneration, effect.assignment),
          () => ({ type: 'assigned' }),
          (error) => ({ type: 'assignFailed', stale: error.code === 'STALE_GENERATION' }),
        );
      case 'claim':
        return this.claim(effect.partition, effect.generation);
      case 'take':
        return hooks.take(effect.partition, effect.ownership);
      case 'revoke':
        return; // all of a step at once: see perform
      case 'release':
        return this.release(effect.partition, effect.ownerEpoch, this.state.incarnation);
      case 'drop':
        return hooks.drop(effect.partitions);
      case 'leave':
        return this.ask(
          (m) => m.leave(),
          () => ({ type: 'left' }),
          () => ({ type: 'left' }),
        );
      case 'fail':
        return hooks.fail(effect.error);
    }
  }

  private async join(): Promise<void> {
    const { store, group, description, leaseMs, logger } = this.options;
    const { incarnation } = this.state;
    try {
      const { signal } = this.abortJoin;
      const membership = await store.join(group, description, { leaseMs, signal });
      if (incarnation !== this.state.incarnation || this.state.phase === 'left') {
        await membership.leave();
        return;
      }
      this.membership = membership;
      this.watches = [
        membership.onChange(() => this.dispatch({ type: 'changed', incarnation })),
        membership.onLost(() => this.dispatch({ type: 'lost', incarnation })),
      ];
      this.dispatch({ type: 'joined', memberId: membership.memberId, incarnation });
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      logger.debug('join failed', { group, code: error.code, error: error.message });
      this.dispatch({ type: 'joinFailed', error, incarnation });
    }
  }

  private claim(partition: GroupPartition, generation: number): void {
    this.ask(
      (m) => this.calls.run(() => m.claim(partition, generation)),
      (ownership) => ({ type: 'claimed', partition, ownership }),
      ({ code }) => ({
        type: 'claimFailed',
        partition,
        reason:
          code === 'FENCED_OWNER' ? 'owned' : code === 'STALE_GENERATION' ? 'stale' : 'failed',
      }),
    );
  }

  private release(partition: GroupPartition, ownerEpoch: number, incarnation: number): void {
    if (incarnation !== this.state.incarnation) return; // lost meanwhile: nothing of it is ours
    this.ask(
      (m) => this.calls.run(() => m.release(partition, ownerEpoch)),
      () => ({ type: 'released', partition }),
      (error) => ({ type: 'releaseFailed', partition, fenced: error.code === 'FENCED_OWNER' }),
    );
  }

  /** One call on the membership of now; its answer becomes an event of that membership. */
  private ask<T>(
    call: (membership: GroupMembership) => Promise<T>,
    onDone: (value: T) => MembershipEvent,
    onFailed: (error: TributaryError) => MembershipEvent,
  ): void {
    const { incarnation } = this.state;
    const { membership } = this;
    if (!membership) return; // dropped in this very step
    call(membership).then(
      (value) => this.dispatch({ ...onDone(value), incarnation }),
      (thrown: unknown) => {
        const error = TributaryError.from(thrown);
        if (hasCode(error, 'UNKNOWN_MEMBER')) this.dispatch({ type: 'lost', incarnation });
        this.dispatch({ ...onFailed(error), incarnation });
      },
    );
  }

  private forgetMembership(): void {
    const { membership } = this;
    this.membership = undefined;
    for (const watch of this.watches) watch.stop();
    this.watches = [];
    // Over anyway; this frees what the store holds for it on this side.
    membership?.leave().catch(() => undefined);
  }

  private arm(): void {
    this.timer?.cancel();
    this.timer = undefined;
    const at = nextWakeAt(this.state, this.options.machine);
    if (at === undefined) return;
    const delayMs = Math.max(1, at - this.options.clock.now());
    this.timer = this.options.clock.setTimer(delayMs, () => this.dispatch({ type: 'tick' }));
  }

  private logMove(next: MemberState): void {
    const { logger, group } = this.options;
    const generation = next.view?.generation;
    if (next.view && generation !== this.state.view?.generation) {
      const members = next.view.members.length;
      logger.info('group assignment changed', { group, generation, members });
    }
    if (next.phase === 'lost' && this.state.memberId !== undefined) {
      logger.info('group membership lost, joining again', {
        group,
        memberId: this.state.memberId,
      });
    }
  }
}
