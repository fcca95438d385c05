import {
  ack,
  append,
  attach,
  brokers,
  durable,
  failed,
  follower,
  leadEvent,
  leader,
  offline,
  run,
  settings,
} from './partition-script.fixture';
import type { EventKind, PartitionEvent, PartitionState, Role } from './partition-state';
import { step } from './partition-step';

describe('every event in every role', () => {
  const events: Record<EventKind, PartitionEvent> = {
    lead: { ...leadEvent, leaderEpoch: 6 },
    follow: { kind: 'follow', leaderId: 3, leaderEpoch: 6, partitionEpoch: 8 },
    changed: {
      kind: 'changed',
      leaderId: 1,
      leaderEpoch: 5,
      partitionEpoch: 8,
      isr: [1, 2, 3],
      replicas: [1, 2, 3],
    },
    cluster: { kind: 'cluster', brokers, settings },
    appended: append(110),
    durable: durable(110),
    attached: attach(3),
    detached: { kind: 'detached', brokerId: 2 },
    acknowledged: ack(2, 100),
    tick: { kind: 'tick' },
    doubted: { kind: 'doubted' },
    altered: { kind: 'altered', requestId: 1, leaderEpoch: 5, partitionEpoch: 8, isr: [1] },
    alterFailed: { kind: 'alterFailed', requestId: 1, code: 'TIMEOUT' },
    replicated: { kind: 'replicated', logEndOffset: 120, leaderHighWatermark: 110 },
    truncated: { kind: 'truncated', logEndOffset: 30, logStartOffset: 0 },
    resign: { kind: 'resign', reason: 'told to' },
    fail: { kind: 'fail', reason: 'EIO' },
  };
  type Expected = Role | 'impossible';
  const table: Record<Role | 'failed', Record<EventKind, Expected>> = {
    offline: {
      lead: 'leader',
      follow: 'follower',
      changed: 'offline',
      cluster: 'offline',
      appended: 'impossible',
      durable: 'offline',
      attached: 'offline',
      detached: 'offline',
      acknowledged: 'offline',
      tick: 'offline',
      doubted: 'offline',
      altered: 'offline',
      alterFailed: 'offline',
      replicated: 'offline',
      truncated: 'offline',
      resign: 'offline',
      fail: 'offline',
    },
    follower: {
      lead: 'leader',
      follow: 'follower',
      changed: 'follower',
      cluster: 'follower',
      appended: 'impossible',
      durable: 'follower',
      attached: 'follower',
      detached: 'follower',
      acknowledged: 'follower',
      tick: 'follower',
      doubted: 'follower',
      altered: 'follower',
      alterFailed: 'follower',
      replicated: 'follower',
      truncated: 'follower',
      resign: 'offline',
      fail: 'offline',
    },
    leader: {
      lead: 'leader',
      follow: 'follower',
      changed: 'leader',
      cluster: 'leader',
      appended: 'leader',
      durable: 'leader',
      attached: 'leader',
      detached: 'leader',
      acknowledged: 'leader',
      tick: 'leader',
      doubted: 'leader',
      altered: 'leader',
      alterFailed: 'leader',
      replicated: 'leader',
      truncated: 'leader',
      resign: 'offline',
      fail: 'offline',
    },
    failed: {
      lead: 'offline',
      follow: 'offline',
      changed: 'offline',
      cluster: 'offline',
      appended: 'impossible',
      durable: 'offline',
      attached: 'offline',
      detached: 'offline',
      acknowledged: 'offline',
      tick: 'offline',
      doubted: 'offline',
      altered: 'offline',
      alterFailed: 'offline',
      replicated: 'offline',
      truncated: 'offline',
      resign: 'offline',
      fail: 'offline',
    },
  };
  const states = { offline, follower, leader, failed };

  for (const [role, row] of Object.entries(table)) {
    for (const [kind, expected] of Object.entries(row)) {
      it(`${role} + ${kind} -> ${expected}`, () => {
        const state = states[role as keyof typeof states];
        const act = (): PartitionState => step(state, events[kind as EventKind], 0).state;
        if (expected === 'impossible') return expect(act).toThrow(/while/);
        const next = act();
        expect(next.role).toBe(expected);
        expect(next.highWatermark).toBeLessThanOrEqual(next.logEndOffset);
        expect(next.leaderEpoch).toBeGreaterThanOrEqual(state.leaderEpoch);
      });
    }
  }
});

describe('roles', () => {
  it('ignores a state with an older or the same epoch (KAFKA-1188, KAFKA-9539)', () => {
    expect(run(leader, { ...leadEvent, leaderEpoch: 4 }).state).toBe(leader);
    expect(run(leader, leadEvent).state).toBe(leader);
    const stale = { kind: 'follow', leaderId: 2, leaderEpoch: 5, partitionEpoch: 7 } as const;
    expect(run(leader, stale).state).toBe(leader);
  });

  it('tells the end of leadership once, whichever way it comes', () => {
    const ends: PartitionEvent[] = [
      { kind: 'follow', leaderId: 2, leaderEpoch: 6, partitionEpoch: 8 },
      { kind: 'resign', reason: 'told to' },
      { kind: 'fail', reason: 'EIO' },
      { ...leadEvent, leaderEpoch: 6 },
    ];
    for (const end of ends) {
      const { effects } = run(leader, end, { kind: 'resign', reason: 'again' });
      const first = effects.filter(({ kind }) => kind === 'leadershipEnded').length;
      expect(first).toBe(end.kind === 'lead' ? 2 : 1);
    }
  });

  it('takes no epoch below the one it was shown when it resigned', () => {
    const { state } = run(leader, { kind: 'resign', reason: 'shown 9', shownEpoch: 9 });
    expect(run(state, { ...leadEvent, leaderEpoch: 8 }).state.role).toBe('offline');
    expect(run(state, { ...leadEvent, leaderEpoch: 9 }).state.role).toBe('leader');
  });

  it('leads again in the same epoch after it resigned by itself, if the state still says so', () => {
    const { state } = run(leader, { kind: 'resign', reason: 'session expired' }, leadEvent);
    expect(state.role).toBe('leader');
  });

  it('a replica whose disk failed takes no role any more', () => {
    const { state } = run(
      leader,
      { kind: 'fail', reason: 'EIO' },
      { ...leadEvent, leaderEpoch: 9 },
    );
    expect(state).toMatchObject({ role: 'offline', failed: true });
  });

  it('a follower takes min(leader HW, own end), and its HW goes back only with a truncation', () => {
    const ahead = run(follower, {
      kind: 'replicated',
      logEndOffset: 110,
      leaderHighWatermark: 500,
    }).state;
    expect(ahead.highWatermark).toBe(110);
    const behind = { kind: 'replicated', logEndOffset: 110, leaderHighWatermark: 60 } as const;
    expect(run(ahead, behind).state.highWatermark).toBe(110);
    const cut = { kind: 'truncated', logEndOffset: 70, logStartOffset: 0 } as const;
    expect(run(ahead, cut).state.highWatermark).toBe(70);
    const anew = { kind: 'truncated', logEndOffset: 500, logStartOffset: 500 } as const;
    expect(run(ahead, anew).state.highWatermark).toBe(500);
  });
});
