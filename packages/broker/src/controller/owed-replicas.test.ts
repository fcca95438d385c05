/** Replicas that were moved away from brokers that were away: deleted when these return, and only while nobody counts on them. */
import type { StopResult } from '@tributary/protocol';
import { ControllerScript, epochOf, registered, topicContext } from './controller-script.fixture';
import { maxOwedReplicas, withOwed, withoutAssigned } from './owed-notes';

const everybody = [1, 2, 3, 4, 5, 6];

/** 1,2,3 became 4,5,6; broker 3 went before it had deleted its replica, and is registered no more. */
function movedAway(): ControllerScript {
  const script = new ControllerScript().begin(everybody, [topicContext('orders', [[1, 2, 3]])]);
  script.reassign({ 'orders/0': [4, 5, 6] }).acknowledgeAll();
  script.alter(1, 'orders/0', everybody).acknowledgeWrites();
  script.deleted('orders/0', 1, 2).take();
  return without3(script);
}

function without3(script: ControllerScript): ControllerScript {
  const brokers = everybody.filter((id) => id !== 3).map((id) => registered(id));
  return script.event({ type: 'brokers-changed', brokers });
}

/** Broker 3 is registered again, and has the image. */
function returned(script: ControllerScript, life = 1): ControllerScript {
  const brokers = everybody.map((id) => registered(id, id === 3 ? life : 0));
  return script.event({ type: 'brokers-changed', brokers }).ready(3, life);
}

function answered(script: ControllerScript, changes: Partial<StopResult> = {}, life = 1): void {
  const result = { topicId: 'orders-id', partition: 0, dataDeleted: true, error: null };
  const brokerEpoch = epochOf(3, life);
  const results = [{ ...result, ...changes }];
  script.event({ type: 'replicas-stopped', brokerId: 3, brokerEpoch, results });
}

function owed(script: ControllerScript): unknown {
  return [...(script.state.topics.get('orders-id')?.record.owed ?? [])];
}

/** Another controller reads what this one has stored, and has these brokers. */
function succeeded(script: ControllerScript, brokers: readonly number[]): ControllerScript {
  const contexts = [...script.state.topics.values()].map(({ record, partitions }) => ({
    record,
    states: partitions.flatMap(({ stored }) => stored ?? []),
  }));
  return new ControllerScript().begin(brokers, contexts);
}

describe('a replica that was moved away from a broker that is away', () => {
  it('is noted in the very write that takes the broker out of the assignment', () => {
    const script = movedAway();
    expect(script.take()).toContain('update topic orders@1');
    const { update } = script.state.topics.get('orders-id')!;
    expect(update?.after).toMatchObject({ assignment: [[4, 5, 6]], owed: new Map([[0, [3]]]) });
    script.acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['4,5,6', [[0, [3]]]]);
    expect(script.journal.join('\n')).toContain('away, and to delete theirs: brokers 3');
    expect(script.take().join()).not.toContain('delete');
  });

  it('is deleted when the broker returns, and the note goes once it has confirmed', () => {
    const script = movedAway().acknowledgeAll();
    script.take();
    expect(returned(script).take().join()).toContain('delete orders/0 on 3');
    answered(script);
    expect(script.take()).toEqual(['update topic orders@2']);
    script.acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['4,5,6', []]);
    script.take();
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([]);
    expect(returned(script, 2).take().join()).not.toContain('delete');
  });

  it('a broker that registers while the note is being written is told with the next retry', () => {
    const script = movedAway();
    returned(script).acknowledgeAll();
    expect(owed(script)).toEqual([[0, [3]]]);
    script.take();
    const retried = script.event({ type: 'timer', timer: 'deletion-retry' }).take();
    expect(retried.join()).toContain('delete orders/0 on 3');
  });

  it('a failure on the broker: told, and asked again', () => {
    const script = returned(movedAway().acknowledgeAll());
    script.take();
    const wire = { code: 'STORAGE_ERROR' as const, message: 'disk', hint: '', leader: null };
    answered(script, {
      dataDeleted: false,
      error: { ...wire, outcome: 'OUTCOME_UNSPECIFIED' as const },
    });
    expect([script.take(), owed(script)]).toEqual([[], [[0, [3]]]]);
    expect(script.journal.at(-1)).toContain('orders-0: not deleted on broker 3 (disk)');
    const retried = script.event({ type: 'timer', timer: 'deletion-retry' }).take();
    expect(retried.join()).toContain('delete orders/0 on 3');
  });

  it('the answer of an earlier life counts for nothing', () => {
    const script = returned(movedAway().acknowledgeAll(), 2);
    script.take();
    answered(script, {}, 1);
    expect([script.take(), owed(script)]).toEqual([[], [[0, [3]]]]);
  });

  it('a note that another write overtook is taken out with the next one', () => {
    const script = returned(movedAway().acknowledgeAll());
    answered(script);
    script.refuseUpdate('BAD_VERSION').take();
    script.event({ type: 'topics-changed', names: ['orders'], topics: [] });
    expect(script.take()).toContain('update topic orders@2');
    expect(owed(script.acknowledgeAll())).toEqual([]);
  });

  it('also one that was only to be added, where that move was cancelled', () => {
    const script = new ControllerScript().begin(everybody, [topicContext('orders', [[1, 2]])]);
    script.reassign({ 'orders/0': [1, 3] }).acknowledgeAll();
    without3(script).reassign({ 'orders/0': 'cancel' }).acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['1,2', [[0, [3]]]]);
    script.take();
    expect(returned(script).take().join()).toContain('delete orders/0 on 3');
  });
});

describe('what is still wanted is not deleted', () => {
  it('a move back to that broker takes the note out in the same write', () => {
    const script = returned(movedAway().acknowledgeAll());
    script.reassign({ 'orders/0': [4, 5, 3] });
    const { update } = script.state.topics.get('orders-id')!;
    expect(update?.after.assignment).toEqual([[4, 5, 3, 6]]);
    expect(update?.after.owed).toBeUndefined();
    script.take();
    // Not yet written: it is not told any more.
    script.event({ type: 'timer', timer: 'deletion-retry' });
    expect(script.take().join()).not.toContain('on 3');
    script.acknowledgeAll().take();
    script.event({ type: 'timer', timer: 'deletion-retry' });
    expect(script.take().join()).not.toContain('on 3');
  });

  it('what was told before the move back is told of an older leader epoch than the one it begins', () => {
    const script = movedAway().acknowledgeAll();
    const { leaderEpoch } = script.partition('orders/0').stored!;
    returned(script);
    script.reassign({ 'orders/0': [4, 5, 3] }).acknowledgeAll();
    expect(script.partition('orders/0').stored?.leaderEpoch).toBeGreaterThan(leaderEpoch);
    // The late answer changes nothing: it owes nothing any more.
    script.take();
    answered(script);
    expect(script.take()).toEqual([]);
  });

  it('a move back that is cancelled while that broker is there is a deletion as any other', () => {
    const script = returned(movedAway().acknowledgeAll());
    script.reassign({ 'orders/0': [4, 5, 3] }).acknowledgeAll();
    script.reassign({ 'orders/0': 'cancel' }).acknowledgeAll();
    expect(script.take().join()).toContain('delete orders/0 on 3');
    answered(script);
    script.acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['4,5,6', []]);
  });

  it('while nobody leads the partition its copy is left alone', () => {
    const script = movedAway().acknowledgeAll();
    for (const id of [4, 5, 6]) script.streamDown(id).refused(id).acknowledgeWrites();
    expect(script.partition('orders/0').stored?.leader).toBe(-1);
    script.take();
    expect(returned(script).take().join()).not.toContain('delete');
    script.ready(5).ready(6).ready(4).acknowledgeAll().take();
    expect(script.partition('orders/0').stored?.leader).not.toBe(-1);
    script.event({ type: 'timer', timer: 'deletion-retry' });
    expect(script.take().join()).toContain('delete orders/0 on 3');
  });

  it('somebody else wrote that broker into the assignment: it is not told, and the note goes', () => {
    const script = movedAway().acknowledgeAll();
    const { record } = script.state.topics.get('orders-id')!;
    const other = { ...record, assignment: [[4, 5, 3]], version: 9 };
    const read = { record: other, states: [] };
    script.event({ type: 'topics-changed', names: ['orders'], topics: [read] }).take();
    expect(returned(script).take().join()).not.toContain('delete');
    script.acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['4,5,3', []]);
  });

  it('a topic that is gone from the coordinator: nothing is told of it', () => {
    const script = movedAway().acknowledgeAll();
    script.event({ type: 'topics-changed', names: [], topics: [] }).take();
    expect(returned(script).take().join()).not.toContain('delete');
  });
});

describe('notes that a new controller finds', () => {
  it('are acted on when the broker is there', () => {
    const script = succeeded(movedAway().acknowledgeAll(), [1, 2, 4, 5, 6]);
    expect(returned(script).take().join()).toContain('delete orders/0 on 3');
  });

  it('a write of the one before that came to nothing: the move is completed again, with the note', () => {
    const script = succeeded(movedAway(), [1, 2, 4, 5, 6]);
    // 1 and 2 confirm to this one, too.
    script.deleted('orders/0', 1, 2).acknowledgeAll();
    expect([script.assignment('orders/0'), owed(script)]).toEqual(['4,5,6', [[0, [3]]]]);
  });

  it('of a broker that is decommissioned and gone: kept, and it is told when it returns', () => {
    const script = movedAway().acknowledgeAll();
    const settings = { brokerId: 3, configs: {}, duty: 'decommissioned', version: 0 } as const;
    script.event({ type: 'settings-read', settings: [settings] }).acknowledgeAll();
    expect(owed(script)).toEqual([[0, [3]]]);
    script.take();
    expect(returned(script).take().join()).toContain('delete orders/0 on 3');
  });
});

it('a broker that crashes while it is decommissioned owes what was moved away from it meanwhile', () => {
  const script = new ControllerScript().begin(everybody, [topicContext('orders', [[1, 2, 3]])]);
  const settings = { brokerId: 3, configs: {}, duty: 'decommissioned', version: 0 } as const;
  without3(script)
    .event({ type: 'settings-read', settings: [settings] })
    .acknowledgeAll();
  const [[added = 0] = []] = [script.partition('orders/0').adding];
  script.alter(1, 'orders/0', [1, 2, added]).acknowledgeAll();
  expect(script.assignment('orders/0')).toBe(`1,2,${added}`);
  expect(owed(script)).toEqual([[0, [3]]]);
  script.take();
  expect(returned(script).take().join()).toContain('delete orders/0 on 3');
});

it('a topic that is deleted meanwhile: its deletion takes over, and notes what the broker still has', () => {
  const script = movedAway().acknowledgeAll();
  const marker = { topic: 'orders', topicId: 'orders-id' };
  script.event({ type: 'deletions-changed', markers: [marker] });
  script.deleted('orders/0', 4, 5, 6);
  expect(script.take().at(-1)).toBe('complete deletion of orders, owed by 3');
  script.event({ type: 'deletion-completed', topicId: 'orders-id' }).take();
  expect(returned(script).take().join()).toContain('delete orders/0 on 3');
  answered(script);
  expect(script.take()).toEqual(['settle orders on 3']);
});

describe('the notes of a topic', () => {
  const record = { topic: 'orders', topicId: 'x', assignment: [[1, 2], [3]], configs: {} };

  it('name nobody that is assigned', () => {
    const noted = withOwed(record, 0, [2, 4]);
    expect([...(noted.owed ?? [])]).toEqual([[0, [4]]]);
    const again = withoutAssigned({ ...noted, assignment: [[1, 4], [3]] });
    expect(again.owed).toBeUndefined();
    expect('owed' in again).toBe(false);
  });

  it('are the very same where nothing changes', () => {
    const noted = withOwed(record, 1, [4]);
    expect(withOwed(noted, 1, [4])).toBe(noted);
    expect(withoutAssigned(noted)).toBe(noted);
    expect(withOwed(record, 0, [])).toBe(record);
  });

  it(`are at most ${maxOwedReplicas} of a partition: the oldest go`, () => {
    const many = Array.from({ length: maxOwedReplicas + 2 }, (_, at) => 10 + at);
    expect(withOwed(record, 0, many).owed?.get(0)).toEqual(many.slice(2));
  });
});
