/**
 * One step of the member machine in the making: a draft of the next state, the effects so far, and the
 * moves that several rules share. Called by `member-machine.ts` alone.
 */
import { partitionKey } from '@tributary/common';
import type { GroupPartition } from '@tributary/coordination';
import type {
  MemberEffect,
  MemberOptions,
  MemberPhase,
  MemberState,
  Moment,
  Slot,
  Step,
} from './member-state';

/** Shortest wait before a retry. */
const RETRY_MIN_MS = 5;

type Draft = { -readonly [K in keyof MemberState]: MemberState[K] } & { slots: Map<string, Slot> };

export class MemberTurn {
  readonly draft: Draft;
  readonly effects: MemberEffect[] = [];

  constructor(
    state: MemberState,
    private readonly moment: Moment,
    readonly options: MemberOptions,
  ) {
    this.draft = { ...state, slots: new Map(state.slots) };
  }

  get now(): number {
    return this.moment.now;
  }

  finish(): Step {
    return { state: this.draft, effects: this.effects };
  }

  become(phase: MemberPhase): void {
    this.draft.phase = phase;
    if (phase === 'left') this.draft.memberId = undefined;
  }

  requestRead(): void {
    const { draft } = this;
    if (draft.phase !== 'watching' && draft.phase !== 'assigning') return;
    if (draft.reading === 'no') {
      draft.reading = 'yes';
      this.effects.push({ type: 'read' });
    } else {
      draft.reading = 'again';
    }
  }

  /** Time of the retry after failure number `attempt` (from 0): full jitter, as in common/backoff. */
  after(attempt: number): number {
    const { retryBaseMs, retryMaxMs } = this.options;
    const backoff = Math.min(retryMaxMs, retryBaseMs * 2 ** Math.min(attempt, 20));
    return this.now + Math.max(RETRY_MIN_MS, backoff * this.moment.jitter);
  }

  /** Counts a failure and says when to try again. */
  failedOnce(): number {
    this.draft.failures += 1;
    return this.after(this.draft.failures - 1);
  }

  /** Keys of the partitions that this member should have now. */
  wanted(): Map<string, GroupPartition> {
    const { phase, view, memberId } = this.draft;
    if (phase !== 'watching' && phase !== 'assigning') return new Map();
    const mine = view?.assignment.find((entry) => entry.memberId === memberId)?.partitions ?? [];
    return new Map(mine.map((p) => [partitionKey(p.topicId, p.partition), p]));
  }

  /** Moves every slot towards what is wanted: claims what has none, revokes what is owned for nothing. */
  reconcile(): void {
    const { slots, view } = this.draft;
    const wanted = this.wanted();
    for (const [key, slot] of slots) {
      if (wanted.has(key)) continue;
      if (slot.status === 'waiting') slots.delete(key);
      if (slot.status === 'owned') this.revoke(key, slot);
    }
    for (const [key, partition] of wanted) {
      if (slots.has(key)) continue;
      slots.set(key, { status: 'claiming', partition, attempt: 0 });
      this.effects.push({ type: 'claim', partition, generation: view?.generation ?? -1 });
    }
  }

  /** Repeats what waits: everything after news of the group, else what is due. */
  retrySlots(which: 'news' | 'due'): void {
    const { slots, view } = this.draft;
    for (const [key, slot] of slots) {
      if (slot.status === 'waiting' && (which === 'news' || slot.retryAt <= this.now)) {
        const { partition, attempt } = slot;
        slots.set(key, { status: 'claiming', partition, attempt });
        this.effects.push({ type: 'claim', partition, generation: view?.generation ?? -1 });
      }
      if (slot.status === 'unreleased' && slot.retryAt <= this.now) {
        const { partition, attempt, ownerEpoch } = slot;
        slots.set(key, { status: 'releasing', partition, ownerEpoch, attempt });
        this.effects.push({ type: 'release', partition, ownerEpoch });
      }
    }
  }

  /** Forgets all slots; what is being consumed is dropped without a commit. */
  dropAll(): void {
    const held = [...this.draft.slots.values()].filter(
      ({ status }) => status === 'owned' || status === 'releasing',
    );
    this.draft.slots.clear();
    if (held.length > 0) {
      this.effects.push({ type: 'drop', partitions: held.map(({ partition }) => partition) });
    }
  }

  /** Not a member (any more): nothing of it counts, join again after a while. */
  loseMembership(): void {
    const { draft } = this;
    this.dropAll();
    draft.phase = 'lost';
    draft.incarnation += 1;
    draft.memberId = undefined;
    draft.view = undefined;
    draft.reading = 'no';
    draft.unassignedSince = undefined;
    draft.assignNotBefore = this.now;
    draft.joinAt = this.failedOnce();
  }

  leaveIfEmpty(): void {
    const { draft } = this;
    if (draft.phase !== 'leaving' || draft.memberId === undefined) return;
    if (draft.leaveAsked || draft.slots.size > 0) return;
    draft.leaveAsked = true;
    this.effects.push({ type: 'leave' });
  }

  private revoke(key: string, slot: Slot & { status: 'owned' }): void {
    const { partition, ownerEpoch } = slot;
    this.draft.slots.set(key, { status: 'releasing', partition, ownerEpoch, attempt: 0 });
    this.effects.push({ type: 'revoke', partition, ownerEpoch });
  }
}
