import { TributaryError } from '@tributary/common';
import type { GroupPartition, GroupView } from '@tributary/coordination';
import { nextWakeAt, startMember, stepMember } from './member-machine';
import type {
  MemberEffect,
  MemberEvent,
  MemberOptions,
  MemberPhase,
  MemberState,
  MembershipEvent,
} from './member-state';

const options: MemberOptions = {
  rebalanceTimeoutMs: 5_000,
  checkTopicsMs: 30_000,
  retryBaseMs: 100,
  retryMaxMs: 1_000,
};

const p = (partition: number): GroupPartition => ({ topic: 't', topicId: 'T', partition });

/** `view(3, {a: [0, 1], b: [2]})`: generation 3, these members with these partitions. */
function view(
  generation: number,
  assigned: Record<string, number[]>,
  members = Object.keys(assigned),
): GroupView {
  return {
    members: members.map((memberId) => ({
      memberId,
      clientId: 'c',
      host: 'h',
      topics: ['t'],
      assignors: ['range'],
    })),
    generation,
    assignment: Object.entries(assigned).map(([memberId, partitions]) => ({
      memberId,
      partitions: partitions.map(p),
    })),
    assignedBy: undefined,
  };
}

function shown(effect: MemberEffect): string {
  switch (effect.type) {
    case 'claim':
      return `claim ${effect.partition.partition} in generation ${effect.generation}`;
    case 'take':
    case 'revoke':
    case 'release':
      return `${effect.type} ${effect.partition.partition}`;
    case 'drop':
      return `drop ${effect.partitions.map(({ partition }) => partition).join(' ')}`;
    case 'assign': {
      const shares = effect.assignment.map(
        ({ memberId, partitions }) => `${memberId}=${partitions.map((x) => x.partition).join('')}`,
      );
      return `assign after ${effect.expectedGeneration}: ${shares.join(' ')}`;
    }
    case 'readTopics':
      return `read topics ${effect.topics.join(' ')}`;
    case 'fail':
      return `fail ${effect.error.code}`;
    case 'join':
    case 'read':
    case 'leave':
      return effect.type;
  }
}

/** One member, driven by hand; every event answers with what the member wants done. */
class Rig {
  now = 0;
  state: MemberState;
  readonly first: string[];

  constructor() {
    const { state, effects } = startMember(0);
    this.state = state;
    this.first = effects.map(shown);
  }

  at(now: number): this {
    this.now = now;
    return this;
  }

  /** An answer to an effect of the present membership. */
  on(event: MembershipEvent): string[] {
    return this.event({ ...event, incarnation: this.state.incarnation });
  }

  event(event: MemberEvent): string[] {
    const step = stepMember(this.state, event, { now: this.now, jitter: 1 }, options);
    this.state = step.state;
    return step.effects.map(shown);
  }

  claimed(partition: number, ownerEpoch = 1): string[] {
    const ownership = { ownerEpoch, committed: undefined };
    return this.on({ type: 'claimed', partition: p(partition), ownership });
  }

  get slots(): string {
    return [...this.state.slots.values()]
      .map((slot) => `${slot.partition.partition} ${slot.status}`)
      .join(', ');
  }

  get wakeAt(): number | undefined {
    return nextWakeAt(this.state, options);
  }
}

/** Joined as 'b', with what the group looks like. */
function joined(memberId: string, first: GroupView): Rig {
  const rig = new Rig();
  rig.on({ type: 'joined', memberId });
  rig.on({ type: 'viewRead', view: first });
  return rig;
}

const topics = (count: number) =>
  new Map([['t', Array.from({ length: count }, (_, partition) => p(partition))]]);
const refused = new TributaryError('UNAVAILABLE', 'nobody there');

describe('a group member', () => {
  test('alone: joins, reads, assigns all to itself, claims, consumes', () => {
    const rig = new Rig();
    expect(rig.first).toEqual(['join']);
    expect(rig.on({ type: 'joined', memberId: 'a' })).toEqual(['read']);
    expect(rig.on({ type: 'viewRead', view: view(-1, {}, ['a']) })).toEqual(['read topics t']);
    expect(rig.state.phase).toBe('assigning');
    expect(rig.on({ type: 'topicsRead', partitions: topics(2) })).toEqual([
      'assign after -1: a=01',
    ]);
    expect(rig.on({ type: 'assigned' })).toEqual(['read']);
    expect(rig.on({ type: 'viewRead', view: view(0, { a: [0, 1] }) })).toEqual([
      'claim 0 in generation 0',
      'claim 1 in generation 0',
    ]);
    expect(rig.claimed(0)).toEqual(['take 0']);
    expect(rig.claimed(1)).toEqual(['take 1']);
    expect(rig.slots).toBe('0 owned, 1 owned');
  });

  test('a second one joins: only what moves is revoked, what stays is never touched', () => {
    const a = joined('a', view(0, { a: [0, 1, 2, 3] }));
    expect(a.state.phase).toBe('assigning'); // the lowest member begins with a look at the topics
    a.on({ type: 'topicsRead', partitions: topics(4) });
    [0, 1, 2, 3].forEach((partition) => a.claimed(partition));
    const b = joined('b', view(0, { a: [0, 1, 2, 3] }, ['a', 'b']));

    expect(a.on({ type: 'changed' })).toEqual(['read']);
    expect(a.on({ type: 'viewRead', view: view(0, { a: [0, 1, 2, 3] }, ['a', 'b']) })).toEqual([
      'read topics t',
    ]);
    expect(a.on({ type: 'topicsRead', partitions: topics(4) })).toEqual([
      'assign after 0: a=01 b=23',
    ]);
    expect(a.on({ type: 'assigned' })).toEqual(['read']);
    const next = view(1, { a: [0, 1], b: [2, 3] });
    expect(a.on({ type: 'viewRead', view: next })).toEqual(['revoke 2', 'revoke 3']);
    expect(a.slots).toBe('0 owned, 1 owned, 2 releasing, 3 releasing');

    expect(b.on({ type: 'changed' })).toEqual(['read']);
    expect(b.on({ type: 'viewRead', view: next })).toEqual([
      'claim 2 in generation 1',
      'claim 3 in generation 1',
    ]);
    expect(b.on({ type: 'claimFailed', partition: p(2), reason: 'owned' })).toEqual([]);
    expect(b.claimed(3)).toEqual(['take 3']);
    expect(b.slots).toBe('2 waiting, 3 owned');
    expect(b.wakeAt).toBe(100);

    expect(a.on({ type: 'released', partition: p(2) })).toEqual([]);
    expect(a.slots).toBe('0 owned, 1 owned, 3 releasing');
    // The hint of the release makes b read, and every read tries again what waits.
    expect(b.on({ type: 'changed' })).toEqual(['read']);
    expect(b.on({ type: 'viewRead', view: next })).toEqual(['claim 2 in generation 1']);
    expect(b.claimed(2)).toEqual(['take 2']);
  });

  test('the other one dies: the survivor takes over all, its own go on', () => {
    const b = joined('b', view(1, { a: [0, 1], b: [2, 3] }));
    [2, 3].forEach((partition) => b.claimed(partition));
    b.on({ type: 'changed' });
    expect(b.on({ type: 'viewRead', view: view(1, { a: [0, 1], b: [2, 3] }, ['b']) })).toEqual([
      'read topics t',
    ]);
    expect(b.on({ type: 'topicsRead', partitions: topics(4) })).toEqual(['assign after 1: b=0123']);
    b.on({ type: 'assigned' });
    expect(b.on({ type: 'viewRead', view: view(2, { b: [0, 1, 2, 3] }) })).toEqual([
      'claim 0 in generation 2',
      'claim 1 in generation 2',
    ]);
    expect(b.slots).toBe('2 owned, 3 owned, 0 claiming, 1 claiming');
  });

  test('the lowest one does not assign: after the rebalance timeout another one does', () => {
    const b = joined('b', view(-1, {}, ['a', 'b']));
    expect(b.state.phase).toBe('watching');
    expect(b.wakeAt).toBe(5_000);
    expect(b.at(4_999).event({ type: 'tick' })).toEqual([]);
    expect(b.at(5_000).event({ type: 'tick' })).toEqual(['read topics t']);
    expect(b.on({ type: 'topicsRead', partitions: topics(2) })).toEqual([
      'assign after -1: a=0 b=1',
    ]);
    expect(b.on({ type: 'assignFailed', stale: true })).toEqual(['read']);
    expect(b.on({ type: 'viewRead', view: view(0, { a: [0], b: [1] }) })).toEqual([
      'claim 1 in generation 0',
    ]);
  });

  test('a failed assignment is tried again after a while, not at once', () => {
    const a = joined('a', view(-1, {}, ['a']));
    expect(a.on({ type: 'topicsFailed' })).toEqual(['read']);
    expect(a.on({ type: 'viewRead', view: view(-1, {}, ['a']) })).toEqual([]);
    expect(a.wakeAt).toBe(100);
    expect(a.at(100).event({ type: 'tick' })).toEqual(['read topics t']);
  });

  test('new partitions: the lowest member compares from time to time', () => {
    const a = joined('a', view(0, { a: [0] }));
    a.on({ type: 'topicsRead', partitions: topics(1) });
    expect(a.state.phase).toBe('watching');
    a.claimed(0);
    expect(a.at(30_000).event({ type: 'tick' })).toEqual(['read']);
    expect(a.on({ type: 'viewRead', view: view(0, { a: [0] }) })).toEqual(['read topics t']);
    expect(a.on({ type: 'topicsRead', partitions: topics(2) })).toEqual(['assign after 0: a=01']);
  });

  test('nothing changed: nothing is written', () => {
    const a = joined('a', view(4, { a: [0], b: [1] }));
    a.on({ type: 'topicsRead', partitions: topics(2) });
    expect(a.state.phase).toBe('watching');
  });

  test('a reader that meets another topic id makes its member look, lowest or not', () => {
    const b = joined('b', view(4, { a: [0], b: [1] }));
    expect(b.event({ type: 'topicsChanged' })).toEqual(['read topics t']);
  });

  test('a stale claim waits for a new look at the group', () => {
    const a = joined('b', view(4, { a: [], b: [1] }));
    expect(a.on({ type: 'claimFailed', partition: p(1), reason: 'stale' })).toEqual(['read']);
    expect(a.on({ type: 'viewRead', view: view(5, { a: [1], b: [] }) })).toEqual([]);
    expect(a.slots).toBe('');
  });

  test('a claim that comes through when the partition is assigned away is given back unread', () => {
    const b = joined('b', view(4, { a: [], b: [1] }));
    b.on({ type: 'changed' });
    b.on({ type: 'viewRead', view: view(5, { a: [1], b: [] }) });
    expect(b.slots).toBe('1 claiming');
    expect(b.claimed(1, 7)).toEqual(['release 1']);
    b.on({ type: 'released', partition: p(1) });
    expect(b.slots).toBe('');
  });

  test('a partition that comes back while it is released is claimed anew', () => {
    const b = joined('b', view(4, { a: [], b: [1] }));
    b.claimed(1);
    b.on({ type: 'changed' });
    expect(b.on({ type: 'viewRead', view: view(5, { a: [1], b: [] }) })).toEqual(['revoke 1']);
    b.on({ type: 'changed' });
    expect(b.on({ type: 'viewRead', view: view(6, { a: [], b: [1] }) })).toEqual([]);
    expect(b.on({ type: 'released', partition: p(1) })).toEqual(['claim 1 in generation 6']);
  });

  test('a release that fails is repeated; one that is fenced is done', () => {
    const b = joined('b', view(4, { a: [], b: [0, 1] }));
    b.claimed(0);
    b.claimed(1);
    b.on({ type: 'changed' });
    b.on({ type: 'viewRead', view: view(5, { a: [0, 1], b: [] }) });
    b.on({ type: 'releaseFailed', partition: p(0), fenced: false });
    b.on({ type: 'releaseFailed', partition: p(1), fenced: true });
    expect(b.slots).toBe('0 unreleased');
    expect(b.at(100).event({ type: 'tick' })).toEqual(['release 0']);
  });

  test('a fenced commit drops that partition alone', () => {
    const b = joined('b', view(4, { a: [], b: [0, 1] }));
    b.claimed(0, 3);
    b.claimed(1, 3);
    expect(b.on({ type: 'fenced', partition: p(0), ownerEpoch: 2 })).toEqual([]);
    expect(b.on({ type: 'fenced', partition: p(0), ownerEpoch: 3 })).toEqual([
      'drop 0',
      'read',
      'claim 0 in generation 4',
    ]);
    expect(b.slots).toBe('1 owned, 0 claiming');
  });

  test('lost: everything is dropped, nothing released; it joins again as another member', () => {
    const b = joined('b', view(4, { a: [], b: [0, 1] }));
    b.claimed(0);
    const before = b.state.incarnation;
    expect(b.on({ type: 'lost' })).toEqual(['drop 0']);
    expect(b.state.phase).toBe('lost');
    // What the old membership still answers does not count.
    const late: MemberEvent = {
      type: 'claimed',
      partition: p(1),
      ownership: { ownerEpoch: 1, committed: undefined },
      incarnation: before,
    };
    expect(b.event(late)).toEqual([]);
    expect(b.wakeAt).toBe(100);
    expect(b.at(100).event({ type: 'tick' })).toEqual(['join']);
    expect(b.on({ type: 'joined', memberId: 'c' })).toEqual(['read']);
  });

  test('joining fails: again and again with backoff, unless it can never succeed', () => {
    const rig = new Rig();
    rig.on({ type: 'joinFailed', error: refused });
    expect(rig.wakeAt).toBe(100);
    rig.at(100).event({ type: 'tick' });
    rig.on({ type: 'joinFailed', error: refused });
    expect(rig.wakeAt).toBe(300);
    rig.at(300).event({ type: 'tick' });
    const never = new TributaryError('INVALID_ARGUMENT', 'no such group name');
    expect(rig.on({ type: 'joinFailed', error: never })).toEqual(['fail INVALID_ARGUMENT']);
    expect(rig.state.phase).toBe('left');
  });

  test('closing: revokes, releases, then leaves; a claim under way is given back first', () => {
    const b = joined('b', view(4, { a: [], b: [0, 1] }));
    b.claimed(0);
    expect(b.event({ type: 'close' })).toEqual(['revoke 0']);
    expect(b.claimed(1)).toEqual(['release 1']);
    expect(b.on({ type: 'released', partition: p(0) })).toEqual([]);
    expect(b.on({ type: 'released', partition: p(1) })).toEqual(['leave']);
    b.on({ type: 'left' });
    expect(b.state.phase).toBe('left');
  });

  test('the time for closing is over: what is left is dropped, and it leaves', () => {
    const b = joined('b', view(4, { a: [], b: [0, 1] }));
    b.claimed(0);
    b.event({ type: 'close' });
    expect(b.event({ type: 'closeExpired' })).toEqual(['drop 0', 'leave']);
    b.event({ type: 'closeExpired' });
    expect(b.state.phase).toBe('left');
  });

  test('closed while joining: leaves as soon as it joined', () => {
    const rig = new Rig();
    expect(rig.event({ type: 'close' })).toEqual([]);
    expect(rig.on({ type: 'joined', memberId: 'a' })).toEqual(['leave']);
  });

  test('news during a read ask for one more read, not for many', () => {
    const rig = new Rig();
    expect(rig.on({ type: 'joined', memberId: 'b' })).toEqual(['read']);
    expect(rig.on({ type: 'changed' })).toEqual([]);
    expect(rig.on({ type: 'changed' })).toEqual([]);
    expect(rig.on({ type: 'viewRead', view: view(0, { a: [0], b: [] }) })).toEqual(['read']);
    expect(rig.on({ type: 'viewRead', view: view(0, { a: [0], b: [] }) })).toEqual([]);
  });
});

describe('the transition table of a group member', () => {
  type EventName = MemberEvent['type'];
  const anyPartition = { partition: p(0) };
  const events: Record<EventName, (incarnation: number) => MemberEvent> = {
    joined: (incarnation) => ({ type: 'joined', memberId: 'b', incarnation }),
    joinFailed: (incarnation) => ({ type: 'joinFailed', error: refused, incarnation }),
    changed: (incarnation) => ({ type: 'changed', incarnation }),
    viewRead: (incarnation) => ({
      type: 'viewRead',
      view: view(4, { a: [], b: [0] }),
      incarnation,
    }),
    readFailed: (incarnation) => ({ type: 'readFailed', incarnation }),
    topicsRead: (incarnation) => ({ type: 'topicsRead', partitions: topics(1), incarnation }),
    topicsFailed: (incarnation) => ({ type: 'topicsFailed', incarnation }),
    assigned: (incarnation) => ({ type: 'assigned', incarnation }),
    assignFailed: (incarnation) => ({ type: 'assignFailed', stale: true, incarnation }),
    claimed: (incarnation) => ({
      type: 'claimed',
      ...anyPartition,
      ownership: { ownerEpoch: 1, committed: undefined },
      incarnation,
    }),
    claimFailed: (incarnation) => ({
      type: 'claimFailed',
      ...anyPartition,
      reason: 'owned',
      incarnation,
    }),
    released: (incarnation) => ({ type: 'released', ...anyPartition, incarnation }),
    releaseFailed: (incarnation) => ({
      type: 'releaseFailed',
      ...anyPartition,
      fenced: false,
      incarnation,
    }),
    fenced: (incarnation) => ({ type: 'fenced', ...anyPartition, ownerEpoch: 1, incarnation }),
    lost: (incarnation) => ({ type: 'lost', incarnation }),
    left: (incarnation) => ({ type: 'left', incarnation }),
    tick: () => ({ type: 'tick' }),
    topicsChanged: () => ({ type: 'topicsChanged' }),
    close: () => ({ type: 'close' }),
    closeExpired: () => ({ type: 'closeExpired' }),
  };

  const inPhase: Record<MemberPhase, () => Rig> = {
    joining: () => new Rig(),
    watching: () => {
      const rig = joined('b', view(4, { a: [], b: [0] }));
      rig.claimed(0);
      return rig;
    },
    assigning: () => {
      const rig = inPhase.watching();
      rig.event({ type: 'topicsChanged' });
      return rig;
    },
    lost: () => {
      const rig = inPhase.watching();
      rig.on({ type: 'lost' });
      return rig.at(200);
    },
    leaving: () => {
      const rig = inPhase.watching();
      rig.event({ type: 'close' });
      return rig;
    },
    left: () => {
      const rig = inPhase.leaving();
      rig.event({ type: 'closeExpired' });
      rig.on({ type: 'left' });
      return rig;
    },
  };

  const stays = (phase: MemberPhase): Record<EventName, MemberPhase> => {
    const entries = Object.keys(events).map((name) => [name, phase]);
    return Object.fromEntries(entries) as Record<EventName, MemberPhase>;
  };

  /** Where each event leads from each phase; what is not named stays where it is. */
  const table: Record<MemberPhase, Record<EventName, MemberPhase>> = {
    joining: {
      ...stays('joining'),
      joined: 'watching',
      joinFailed: 'lost',
      close: 'leaving',
      closeExpired: 'left',
    },
    watching: {
      ...stays('watching'),
      topicsChanged: 'assigning',
      lost: 'lost',
      close: 'leaving',
      closeExpired: 'leaving',
    },
    assigning: {
      ...stays('assigning'),
      // Of 'a' and 'b', partition 0 goes to 'a': an assignment is written, and `assigned` ends it.
      topicsRead: 'assigning',
      topicsFailed: 'watching',
      assigned: 'watching',
      assignFailed: 'watching',
      lost: 'lost',
      close: 'leaving',
      closeExpired: 'leaving',
    },
    lost: { ...stays('lost'), tick: 'joining', close: 'left', closeExpired: 'left' },
    leaving: { ...stays('leaving'), lost: 'left', left: 'left', closeExpired: 'leaving' },
    left: stays('left'),
  };

  const cases = (Object.keys(table) as MemberPhase[]).flatMap((phase) =>
    (Object.keys(events) as EventName[]).map((name) => [phase, name, table[phase][name]] as const),
  );

  test.each(cases)('%s, on %s: %s', (phase, name, next) => {
    const rig = inPhase[phase]();
    expect(rig.state.phase).toBe(phase);
    rig.event(events[name](rig.state.incarnation));
    expect(rig.state.phase).toBe(next);
    // Nothing waits for nobody: a member either has an answer, a timer or an end ahead.
    if (next === 'lost') expect(rig.wakeAt).toBeDefined();
    if (next === 'left') expect(rig.wakeAt).toBeUndefined();
  });

  test.each(cases)('%s ignores %s of an earlier membership', (phase, name) => {
    const rig = inPhase[phase]();
    const event = events[name](rig.state.incarnation - 1);
    if (!('incarnation' in event)) return;
    const before = rig.state;
    expect(rig.event(event)).toEqual([]);
    expect(rig.state).toBe(before);
  });
});
