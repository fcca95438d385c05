import { ALTER_RETRY_MS, DOUBT_MS, EXPAND_PAUSE_MS } from './leader-step';
import {
  ack,
  alters,
  append,
  attach,
  brokers,
  durable,
  leadEvent,
  leader,
  LAG_MS,
  offline,
  run,
  settings,
  syncSettings,
} from './partition-script.fixture';
import type { EventOf, LeaderState, PartitionEvent, PartitionState } from './partition-state';

describe('high watermark', () => {
  it('is the least end of the ISR, and moves at the acknowledgement', () => {
    const { state, effects } = run(leader, attach(2), append(120), ack(2, 110));
    expect(state.highWatermark).toBe(110);
    expect(effects).toEqual([{ kind: 'highWatermark', highWatermark: 110 }]);
  });

  it('starts from the known one, not from the log end', () => {
    expect(leader.highWatermark).toBe(40);
    expect(leader.epochStartOffset).toBe(100);
  });

  it('moves at once when this replica is the whole ISR and that is enough', () => {
    const alone = { ...leadEvent, isr: [1], settings: { ...settings, minInsyncReplicas: 1 } };
    expect(run(offline, alone).state.highWatermark).toBe(100);
  });

  it('is frozen while the ISR is smaller than min ISR (KAFKA-15583)', () => {
    const { leader: state } = run(offline, { ...leadEvent, isr: [1] }, append(130));
    expect(state.highWatermark).toBe(40);
  });

  it('stays frozen while the expansion to min ISR is pending, and moves once it is committed', () => {
    const pending = run(offline, { ...leadEvent, isr: [1] }, attach(2), ack(2, 100));
    expect(alters(pending.effects)).toEqual([[1, 2]]);
    expect(pending.state.highWatermark).toBe(40);
    const done = run(pending.state, {
      kind: 'altered',
      requestId: 1,
      leaderEpoch: 5,
      partitionEpoch: 8,
      isr: [1, 2],
    });
    expect(done.state.highWatermark).toBe(100);
  });

  it('moves when an asynchronous shrink is committed (KAFKA-13091)', () => {
    const three = { ...leadEvent, isr: [1, 2, 3] };
    const lagging = run(
      offline,
      three,
      attach(2),
      attach(3),
      ack(3, 90),
      append(150),
      { ...ack(2, 150, LAG_MS), at: LAG_MS },
      { kind: 'tick', at: LAG_MS + 1 },
    );
    expect(alters(lagging.effects)).toEqual([[1, 2]]);
    // A pending removal still counts.
    expect(lagging.state.highWatermark).toBe(90);
    const { state } = run(lagging.state, {
      kind: 'altered',
      requestId: 1,
      leaderEpoch: 5,
      partitionEpoch: 8,
      isr: [1, 2],
      at: LAG_MS + 5,
    });
    expect(state.highWatermark).toBe(150);
  });

  it('waits for a caught-up replica that is about to join, not for one that may not (KAFKA-15021)', () => {
    const events = [attach(2), attach(3), { ...ack(3, 100, 0) }, append(120), ack(2, 120)] as const;
    expect(run(leader, ...events).state.highWatermark).toBe(100);
    const draining = new Map(brokers).set(3, { brokerEpoch: 30, eligible: false });
    const cluster = { kind: 'cluster', brokers: draining, settings } as const;
    expect(run(leader, cluster, ...events).state.highWatermark).toBe(120);
  });

  it('waits for one that is caught up also while it may not be proposed, but no longer than the lag time', () => {
    const refused = { kind: 'alterFailed', requestId: 1, code: 'INELIGIBLE_REPLICA' } as const;
    const joining = [attach(2), attach(3), ack(3, 100, 0), refused] as const;
    const { state } = run(leader, ...joining, append(120), ack(2, 120));
    expect(state).toMatchObject({ highWatermark: 100, pending: undefined });
    const later = { ...ack(2, 120, LAG_MS + 1), at: LAG_MS + 1 };
    expect(run(state, later).state.highWatermark).toBe(120);
  });

  it('does not count what a member of the ISR had in an earlier life (KIP-966: it may have lost it)', () => {
    const three = run(offline, { ...leadEvent, isr: [1, 2, 3] }, append(120)).state;
    const behind = run(three, attach(2), attach(3), ack(2, 120), ack(3, 100)).state;
    expect(behind.highWatermark).toBe(100);
    const again = run(behind, { kind: 'detached', brokerId: 2 }, attach(2), ack(3, 120)).state;
    expect(again.highWatermark).toBe(100);
    expect(run(again, ack(2, 110)).state.highWatermark).toBe(110);
  });

  it('waits for the acknowledgement on a new attach: the earlier life may have had more', () => {
    const before = run(leader, attach(2), ack(2, 100)).state;
    expect(run(before, append(120), attach(2)).state.highWatermark).toBe(100);
    expect(run(before, append(120), attach(2), ack(2, 110)).state.highWatermark).toBe(110);
  });
});

describe('high watermark with flush=sync', () => {
  const syncLead = { ...leadEvent, settings: syncSettings };
  const alone = { ...syncLead, isr: [1], settings: { ...syncSettings, minInsyncReplicas: 1 } };
  const syncs = run(offline, syncLead).state;
  const toSync = { kind: 'cluster', brokers, settings: syncSettings } as const;
  const toOs = { kind: 'cluster', brokers, settings } as const;

  it('moves no further than the device of the leader, whatever the followers have', () => {
    const { state } = run(syncs, attach(2), append(120), ack(2, 120));
    expect(state.highWatermark).toBe(100);
    const { state: synced, effects } = run(state, durable(110));
    expect(synced.highWatermark).toBe(110);
    expect(effects).toEqual([{ kind: 'highWatermark', highWatermark: 110 }]);
    expect(run(synced, durable(120)).state.highWatermark).toBe(120);
  });

  it('and no further than the followers, whatever the device has', () => {
    expect(run(syncs, attach(2), append(120), durable(120), ack(2, 105)).state.highWatermark).toBe(
      105,
    );
  });

  it('of a leader that is its whole ISR: only what is on its device', () => {
    const { state } = run(offline, alone, append(130));
    expect(state.highWatermark).toBe(100);
    expect(run(state, durable(125)).state.highWatermark).toBe(125);
  });

  it('a leader that begins with a tail that is not on its device commits none of it before it is', () => {
    const { state } = run(offline, { ...alone, durableEndOffset: 60 });
    expect(state).toMatchObject({ highWatermark: 60, epochStartOffset: 100 });
    expect(run(state, durable(100)).state.highWatermark).toBe(100);
    // It was committed before, by an earlier leader: it stays so.
    expect(run(offline, { ...alone, durableEndOffset: 10 }).state.highWatermark).toBe(40);
  });

  it('does not go back when the setting changes to sync, and waits there for the device', () => {
    const os = run(leader, attach(2), append(120), ack(2, 120)).state;
    const changed = run(os, toSync, append(130), ack(2, 130)).state;
    expect(changed.highWatermark).toBe(120);
    expect(run(changed, durable(125)).state.highWatermark).toBe(125);
  });

  it('goes on at once when the setting changes to os', () => {
    const waiting = run(syncs, attach(2), append(120), ack(2, 120)).state;
    const { effects } = run(waiting, toOs);
    expect(effects).toEqual([{ kind: 'highWatermark', highWatermark: 120 }]);
  });

  it('a follower joins by what it acknowledged, which is on its device: at or above the HW', () => {
    const committed = run(syncs, attach(2), append(120), ack(2, 120), durable(120)).state;
    const isrs = (end: number): number[][] =>
      alters(run(committed, attach(3), ack(3, end)).effects);
    expect(isrs(119)).toEqual([]);
    expect(isrs(120)).toEqual([[1, 2, 3]]);
  });
});

describe('joining the ISR', () => {
  const joins = (...events: (PartitionEvent & { at?: number })[]): boolean =>
    alters(run(leader, ...events).effects).some((isr) => isr.includes(3));

  it('after an attach and an acknowledgement in this epoch, at or above HW and epoch start', () => {
    expect(joins(attach(3), ack(3, 100))).toBe(true);
  });

  it('not by an attach alone', () => {
    expect(joins(attach(3))).toBe(false);
  });

  it('not below the start of the epoch, though above the HW (KAFKA-7128)', () => {
    expect(joins(attach(3), ack(3, 99))).toBe(false);
  });

  it('not below the HW', () => {
    const moved = [attach(2), append(150), ack(2, 150)] as const;
    expect(joins(...moved, attach(3), ack(3, 149))).toBe(false);
    expect(joins(...moved, attach(3), ack(3, 150))).toBe(true);
  });

  it('not with the broker epoch of an earlier life (KIP-903, KAFKA-14617)', () => {
    const earlier = { ...attach(3), brokerEpoch: 29 };
    expect(joins(earlier, ack(3, 100))).toBe(false);
  });

  it('not while shutting down or dead (KIP-841, KAFKA-14140), but as soon as it is eligible again', () => {
    const away = new Map(brokers).set(3, { brokerEpoch: 30, eligible: false });
    const gone = { kind: 'cluster', brokers: away, settings } as const;
    const { state, effects } = run(leader, gone, attach(3), ack(3, 100));
    expect(alters(effects)).toEqual([]);
    expect(alters(run(state, { kind: 'cluster', brokers, settings }).effects)).toEqual([[1, 2, 3]]);
  });

  it('not after its attach has ended', () => {
    const { leader: state } = run(leader, attach(3), ack(3, 90), {
      kind: 'detached',
      brokerId: 3,
    });
    expect(state.followers.find(({ brokerId }) => brokerId === 3)).toMatchObject({
      attached: false,
      acknowledged: false,
    });
    expect(alters(run(state, attach(3)).effects)).toEqual([]);
  });

  it('not when it is outside the assignment (KAFKA-9672)', () => {
    expect(joins(attach(4), ack(4, 100))).toBe(false);
  });

  it('not again, once it left both the ISR and the assignment (KAFKA-9672)', () => {
    const moving = { ...leadEvent, isr: [1, 2, 4], replicas: [1, 2, 3] };
    const before = run(offline, moving, attach(2), attach(4), ack(2, 100), ack(4, 100)).state;
    const changed = { kind: 'changed', leaderId: 1, leaderEpoch: 5, partitionEpoch: 8 } as const;
    const gone = run(before, { ...changed, isr: [1, 2], replicas: [1, 2, 3] });
    expect(gone.leader.followers.map(({ brokerId }) => brokerId)).toEqual([2, 3]);
    expect(alters(run(gone.state, attach(4), ack(4, 100)).effects)).toEqual([]);
  });

  it('names the broker epoch of each member', () => {
    const { effects } = run(leader, attach(3), ack(3, 100));
    expect(effects).toContainEqual({
      kind: 'alterPartition',
      requestId: 1,
      leaderEpoch: 5,
      partitionEpoch: 7,
      members: [
        { brokerId: 1, brokerEpoch: 10 },
        { brokerId: 2, brokerEpoch: 20 },
        { brokerId: 3, brokerEpoch: 30 },
      ],
    });
  });
});

describe('leaving the ISR', () => {
  const isrAfter = (...events: (PartitionEvent & { at?: number })[]): number[][] =>
    alters(run(leader, ...events).effects);

  it('after the lag time without having been caught up', () => {
    const lagging = [attach(2), append(120)] as const;
    expect(isrAfter(...lagging, { kind: 'tick', at: LAG_MS })).toEqual([]);
    expect(isrAfter(...lagging, { kind: 'tick', at: LAG_MS + 1 })).toEqual([[1]]);
  });

  it('an idle follower stays, however long nothing is produced (KAFKA-7152)', () => {
    expect(isrAfter(attach(2), ack(2, 100, 0), { kind: 'tick', at: LAG_MS * 100 })).toEqual([]);
  });

  it('a mark that it reached counts from its send time', () => {
    const acked = [append(120), { ...ack(2, 119, 4_000), at: 9_000 }] as const;
    expect(isrAfter(attach(2), ...acked, { kind: 'tick', at: LAG_MS + 4_000 })).toEqual([]);
    expect(isrAfter(attach(2), ...acked, { kind: 'tick', at: LAG_MS + 4_001 })).toEqual([[1]]);
  });

  it('a member that never attached in this epoch leaves after the lag time', () => {
    expect(isrAfter({ kind: 'tick', at: LAG_MS + 1 })).toEqual([[1]]);
  });

  it('never the leader itself', () => {
    const alone = run(leader, append(500), { kind: 'tick', at: LAG_MS + 1 });
    expect(alters(alone.effects)).toEqual([[1]]);
  });
});

describe('asking the controller', () => {
  const asked = run(leader, attach(3), ack(3, 100)).leader;
  const failedWith = (code: EventOf<'alterFailed'>['code'], at = 0): PartitionState =>
    run(asked, { kind: 'alterFailed', requestId: 1, code, at }).state;
  const answer = { kind: 'altered', requestId: 1, leaderEpoch: 5, partitionEpoch: 8 } as const;

  it('one change at a time', () => {
    const { effects } = run(asked, append(300), { kind: 'tick', at: LAG_MS + 1 }, ack(3, 300));
    expect(alters(effects)).toEqual([]);
  });

  it('commits the answer, whatever it says', () => {
    const { leader: state } = run(asked, { ...answer, isr: [1, 2, 3] });
    expect(state).toMatchObject({ isr: [1, 2, 3], partitionEpoch: 8, pending: undefined });
  });

  it('drops an answer when the state has changed meanwhile', () => {
    const changed = { kind: 'changed', leaderId: 1, leaderEpoch: 5, partitionEpoch: 9 } as const;
    const { leader: moved } = run(asked, { ...changed, isr: [1, 3], replicas: [1, 2, 3] });
    expect(moved).toMatchObject({ isr: [1, 3], partitionEpoch: 9 });
    expect(run(moved, { ...answer, isr: [1, 2, 3] }).leader.isr).toEqual([1, 3]);
    const resigned = run(asked, { kind: 'resign', reason: '' }, leadEvent).leader;
    expect(run(resigned, { ...answer, isr: [1, 2, 3] }).leader.isr).toEqual([1, 2]);
  });

  it('INELIGIBLE_REPLICA: back to what is committed, and a pause before the next question', () => {
    const { leader: state, effects } = run(asked, {
      kind: 'alterFailed',
      requestId: 1,
      code: 'INELIGIBLE_REPLICA',
    });
    expect(state.pending).toBeUndefined();
    expect(alters(effects)).toEqual([]);
    expect(alters(run(state, { kind: 'tick', at: EXPAND_PAUSE_MS }).effects)).toEqual([[1, 2, 3]]);
    // What is new of the brokers may have changed the answer.
    expect(alters(run(state, { kind: 'cluster', brokers, settings }).effects)).toEqual([[1, 2, 3]]);
  });

  it('unknown outcome: stays pending and asks the very same again (KAFKA-14144)', () => {
    for (const code of [
      'TIMEOUT',
      'UNAVAILABLE',
      'NOT_CONTROLLER',
      'INVALID_PARTITION_EPOCH',
    ] as const) {
      const waiting = failedWith(code);
      expect((waiting as LeaderState).pending).toBeDefined();
      expect(run(waiting, { kind: 'tick', at: ALTER_RETRY_MS - 1 }).effects).toEqual([]);
      const again = run(waiting, { kind: 'tick', at: ALTER_RETRY_MS });
      expect(again.effects).toMatchObject([{ kind: 'alterPartition', requestId: 1 }]);
      expect(run(again.state, { kind: 'tick', at: ALTER_RETRY_MS * 9 }).effects).toEqual([]);
    }
  });

  it('while pending, the new member counts for the HW and the old one still does', () => {
    const { state } = run(asked, append(200), ack(2, 200));
    expect(state.highWatermark).toBe(100);
  });

  it('FENCED_LEADER_EPOCH: resigns at once', () => {
    const { state, effects } = run(asked, {
      kind: 'alterFailed',
      requestId: 1,
      code: 'FENCED_LEADER_EPOCH',
    });
    expect(state.role).toBe('offline');
    expect(effects).toMatchObject([{ kind: 'leadershipEnded' }]);
  });

  it('a higher epoch that a client claims is not believed, but checked with the controller', () => {
    const { leader: state, effects } = run(leader, { kind: 'doubted' });
    expect(state.role).toBe('leader');
    expect(alters(effects)).toEqual([[1, 2]]);
    expect(alters(run(state, { kind: 'doubted' }).effects)).toEqual([]);
    const same = run(state, { ...answer, partitionEpoch: 7, isr: [1, 2] });
    expect(same.leader).toMatchObject({ isr: [1, 2], pending: undefined });
    const fenced = { kind: 'alterFailed', requestId: 1, code: 'FENCED_LEADER_EPOCH' } as const;
    expect(run(state, fenced).state.role).toBe('offline');
  });

  it('while it cannot be reached: a claim that stands for a second ends leadership, no claim does not', () => {
    const unreachable = { kind: 'alterFailed', requestId: 1, code: 'UNAVAILABLE' } as const;
    const claimed = run(leader, { kind: 'doubted', at: 50 }).state;
    const role = (from: PartitionState, at: number): string =>
      run(from, { ...unreachable, at }).state.role;
    expect(role(claimed, DOUBT_MS + 49)).toBe('leader');
    expect(role(claimed, DOUBT_MS + 50)).toBe('offline');
    expect(role(asked, LAG_MS)).toBe('leader');
    // Claimed while another question is out: that one's answer counts. Claims again and again do not put it off.
    const both = run(asked, { kind: 'doubted', at: 50 }, { kind: 'doubted', at: DOUBT_MS }).state;
    expect(role(both, DOUBT_MS + 50)).toBe('offline');
    // It can be reached, and does not know: asked again.
    const unknown = { ...unreachable, code: 'TIMEOUT', at: 9 * DOUBT_MS } as const;
    expect(run(claimed, unknown).state.role).toBe('leader');
  });

  it('an answer to, or a refusal of, an earlier question does not touch the next one', () => {
    const again = run(asked, { kind: 'resign', reason: '' }, leadEvent, attach(3), ack(3, 100));
    expect(again.leader.pending?.requestId).toBe(2);
    expect(run(again.state, { ...answer, isr: [1, 2, 3] }).state).toBe(again.state);
    const late = { kind: 'alterFailed', requestId: 1, code: 'FENCED_LEADER_EPOCH' } as const;
    expect(run(again.state, late).state).toBe(again.state);
  });
});
