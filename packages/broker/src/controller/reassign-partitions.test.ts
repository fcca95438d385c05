/** Moves of replicas (KIP-455), from the wish to the last deletion. */
import { ControllerScript, registered, topicContext } from './controller-script.fixture';

function running(...assignment: (readonly number[])[]): ControllerScript {
  const topics = [topicContext('orders', assignment)];
  return new ControllerScript().begin([1, 2, 3, 4, 5, 6], topics);
}

/** 1,2,3 are to be replaced by 4,5,6; the new ones are told of. */
function moving(): ControllerScript {
  const script = running([1, 2, 3]);
  script
    .reassign({ 'orders/0': [4, 5, 6] })
    .acknowledgeAll()
    .take();
  return script;
}

describe('a move', () => {
  it('is stored first, then told in a new leader epoch', () => {
    const script = running([1, 2, 3]);
    script.reassign({ 'orders/0': [4, 5, 6] });
    expect(script.take()).toEqual(['update topic orders@0']);
    script.acknowledgeUpdates();
    expect(script.take()).toEqual([
      'write orders/0@0: leader 1 epoch 1 ISR 1,2,3',
      'publish to 1,2,3,4,5,6: topic orders; orders/0 leader 1 epoch 0',
      'answer 1 #1: orders/0 done',
    ]);
    expect(script.assignment('orders/0')).toBe('4,5,6,1,2,3 (adding 4,5,6, removing 1,2,3)');
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.1, ISR 1,2,3');
  });

  it('leaves the old ones out once all new ones are in sync; they delete, and the target is written last', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.2, ISR 1,2,3,4,5');
    script.take();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 4, epoch 2.4, ISR 4,5,6');
    expect(script.take().at(-1)).toBe(
      'publish to 1,2,3,4,5,6: orders/0 leader 4 epoch 2; delete orders/0 on 1; delete orders/0 on 2; delete orders/0 on 3',
    );
    script.deleted('orders/0', 1, 2);
    expect(script.take()).toEqual([]);
    script.deleted('orders/0', 3);
    expect(script.take()).toEqual(['update topic orders@1']);
    script.acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('4,5,6');
    expect(script.stored('orders/0')).toBe('leader 4, epoch 2.4, ISR 4,5,6');
  });

  it('lets the leader lead on where it stays', () => {
    const script = running([1, 2, 3]);
    script.reassign({ 'orders/0': [4, 1, 2] }).acknowledgeAll();
    script.alter(1, 'orders/0', [1, 2, 3, 4]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 2.3, ISR 1,2,4');
    script.deleted('orders/0', 3).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('4,1,2');
  });

  it('begins when all new replicas may join, and not before', () => {
    const script = running([1, 2, 3]);
    script
      .streamDown(5)
      .refused(5)
      .reassign({ 'orders/0': [4, 5, 6] });
    expect(script.acknowledgeAll().stored('orders/0')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
    script.ready(5).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.1, ISR 1,2,3');
  });

  it('what an earlier life of a broker deleted does not count', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    script.deleted('orders/0', 1, 2);
    const brokers = [1, 2, 3, 4, 5, 6].map((id) => registered(id, id === 3 ? 1 : 0));
    script.event({ type: 'brokers-changed', brokers }).take();
    expect(script.deleted('orders/0', 3).take()).toEqual([]);
    expect(script.ready(3, 1).take().at(-1)).toMatch('delete orders/0 on 3');
  });

  it('asks again for a deletion that was not confirmed', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    script.deleted('orders/0', 1, 2).take();
    script.event({ type: 'timer', timer: 'deletion-retry' });
    expect(script.take()).toEqual(['publish to 1,2,3,4,5,6: delete orders/0 on 3']);
  });

  it('does not wait for the deletion on a broker that is gone: that replica stays as a stray one', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    script.deleted('orders/0', 1, 2).take();
    const brokers = [1, 2, 4, 5, 6].map((id) => registered(id));
    script.event({ type: 'brokers-changed', brokers });
    expect(script.take()).toContain('update topic orders@1');
    expect(script.acknowledgeAll().assignment('orders/0')).toBe('4,5,6');
  });

  it('goes on when a new replica dies on the way and returns', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5]).acknowledgeWrites();
    script.streamDown(5).refused(5).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.3, ISR 1,2,3,4');
    script.ready(5).alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 4, epoch 2.5, ISR 4,5,6');
  });

  it('KAFKA-9672: while it lasts the ISR holds who goes and who comes, and any of them may lead', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 5]).acknowledgeWrites();
    script.streamDown(1).refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 5, epoch 2.3, ISR 2,5');
    script.streamDown(5).refused(5).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 3.4, ISR 2, eligible 5');
  });

  it('a replica that was left out does not come back into the ISR', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites().take();
    script.alter(4, 'orders/0', [4, 5, 6, 1]);
    expect(script.take()).toEqual(['answer 4 #1: INVALID_ARGUMENT']);
  });

  it('a bounded number of partitions at once; the others wait, as stored', () => {
    const script = running([1, 2], [1, 2], [1, 2]);
    script.reassign({ 'orders/0': [1, 3], 'orders/1': [1, 3], 'orders/2': [1, 3] });
    script.acknowledgeAll();
    expect([0, 1, 2].map((n) => script.partition(`orders/${n}`).stored?.leaderEpoch)).toEqual([
      1, 1, 0,
    ]);
    expect(script.assignment('orders/2')).toBe('1,3,2 (adding 3, removing 2)');
    script.alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    script.deleted('orders/0', 2).acknowledgeAll();
    expect(script.partition('orders/2').stored?.leaderEpoch).toBe(1);
  });

  it('to more replicas is done when they are in sync', () => {
    const script = running([1]);
    script.reassign({ 'orders/0': [1, 2, 3] }).acknowledgeAll();
    script.alter(1, 'orders/0', [1, 2]).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,2,3 (adding 2,3)');
    script.alter(1, 'orders/0', [1, 2, 3]).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,2,3');
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.3, ISR 1,2,3');
  });

  it('of order alone moves nothing', () => {
    const script = running([1, 2, 3]);
    script.reassign({ 'orders/0': [3, 2, 1] }).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('3,2,1');
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
  });

  it('to fewer replicas keeps as many in sync as min ISR wants', () => {
    const script = running([1, 2, 3]);
    script.alter(1, 'orders/0', [1, 3]).acknowledgeWrites();
    script.reassign({ 'orders/0': [1, 2] }).acknowledgeAll();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1,3');
    script.alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.3, ISR 1,2');
    script.deleted('orders/0', 3).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,2');
  });
});

describe('a move that is cancelled', () => {
  it('goes back: the new ones are left out and delete', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4]).acknowledgeWrites().take();
    script.reassign({ 'orders/0': 'cancel' }).acknowledgeAll();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 2.3, ISR 1,2,3');
    expect(script.take().at(-1)).toMatch(
      /delete orders\/0 on 4; delete orders\/0 on 5; delete orders\/0 on 6$/,
    );
    script.deleted('orders/0', 4, 5, 6).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,2,3');
  });

  it('waits where only new ones are in sync: the last of them is never given up', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 4]).acknowledgeWrites();
    script.streamDown(1).refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 4, epoch 2.3, ISR 4, eligible 1');
    script.reassign({ 'orders/0': 'cancel' }).acknowledgeAll();
    expect(script.stored('orders/0')).toBe('leader 4, epoch 2.3, ISR 4, eligible 1');
    script.alter(4, 'orders/0', [2, 3, 4]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 3.5, ISR 2,3');
  });

  it('may be cancelled before it has begun', () => {
    const script = running([1, 2], [1, 2], [1, 2]);
    script.reassign({ 'orders/0': [1, 3], 'orders/1': [1, 3], 'orders/2': [1, 3] });
    script.acknowledgeAll().reassign({ 'orders/2': 'cancel' }).acknowledgeAll();
    script.deleted('orders/2', 3).acknowledgeAll();
    expect(script.assignment('orders/2')).toBe('1,2');
    expect(script.partition('orders/2').stored?.leaderEpoch).toBe(0);
  });

  it('is replaced by another: what was before the first one is still what it goes back to', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4]).acknowledgeWrites();
    script.reassign({ 'orders/0': [5, 1, 2] }).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('5,1,2,4,6,3 (adding 5,4,6, removing 4,6,3)');
    script.reassign({ 'orders/0': 'cancel' }).acknowledgeAll();
    script.deleted('orders/0', 4, 5, 6).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,2,3');
    expect(script.partition('orders/0').stored?.isr).toEqual([1, 2, 3]);
  });

  it('cannot be taken back once the old replicas are being deleted', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites().take();
    script.reassign({ 'orders/0': 'cancel' });
    expect(script.take()).toEqual(['answer 1 #1: orders/0 UNAVAILABLE']);
  });
});

describe('after a change of controller', () => {
  /** Another controller reads what `script` has stored. */
  function succeeded(script: ControllerScript): ControllerScript {
    const contexts = [...script.state.topics.values()].map(({ record, partitions }) => ({
      record,
      states: partitions.flatMap(({ stored }) => stored ?? []),
    }));
    return new ControllerScript().begin([1, 2, 3, 4, 5, 6], contexts);
  }

  it('a move that was only stored begins', () => {
    const script = running([1, 2, 3]);
    script.reassign({ 'orders/0': [4, 5, 6] }).acknowledgeUpdates();
    expect(succeeded(script).stored('orders/0')).toBe('leader 1, epoch 1.1, ISR 1,2,3');
  });

  it('one that was told of goes on, in the same leader epoch', () => {
    const next = succeeded(moving());
    expect(next.stored('orders/0')).toBe('leader 1, epoch 1.1, ISR 1,2,3');
    next.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    expect(next.stored('orders/0')).toBe('leader 4, epoch 2.3, ISR 4,5,6');
  });

  it('those that were left out are told to delete again', () => {
    const script = moving();
    script.alter(1, 'orders/0', [1, 2, 3, 4, 5, 6]).acknowledgeWrites();
    const next = succeeded(script);
    expect(next.stored('orders/0')).toBe('leader 4, epoch 2.3, ISR 4,5,6');
    next.event({ type: 'timer', timer: 'deletion-retry' });
    expect(next.take().at(-1)).toMatch(/: delete orders\/0 on 1; .* on 2; .* on 3$/);
    next.deleted('orders/0', 1, 2, 3).acknowledgeAll();
    expect(next.assignment('orders/0')).toBe('4,5,6');
  });
});

describe('what is refused, partition by partition', () => {
  it('strangers, twins, none at all; the others begin', () => {
    const script = running([1, 2], [1, 2], [1, 2], [1, 2]);
    script.reassign({
      'orders/0': [1, 9],
      'orders/1': [1, 1],
      'orders/2': [],
      'orders/3': [1, 3],
      'orders/7': [1, 2],
      'payments/0': [1, 2],
    });
    expect(script.acknowledgeUpdates().take().at(-1)).toBe(
      'answer 1 #1: orders/0 UNKNOWN_BROKER, orders/1 INVALID_ARGUMENT, orders/2 INVALID_REPLICATION_FACTOR, orders/3 done, orders/7 UNKNOWN_PARTITION, payments/0 UNKNOWN_TOPIC',
    );
  });

  it('a decommissioned broker gets nothing new; what it has may stay', () => {
    const script = running([1, 2], [1, 4]);
    const settings = { brokerId: 4, configs: {}, duty: 'decommissioned', version: 0 } as const;
    script.event({ type: 'settings-read', settings: [settings] }).take();
    script.reassign({ 'orders/0': [1, 4], 'orders/1': [4, 3] }).acknowledgeUpdates();
    expect(script.take().at(-1)).toBe('answer 1 #1: orders/0 INELIGIBLE_REPLICA, orders/1 done');
  });

  it('a topic that is being deleted; one that is being changed is waited for', () => {
    const script = running([1, 2]);
    script.reassign({ 'orders/0': [1, 3] }).take();
    script.reassign({ 'orders/0': [1, 4] });
    expect(script.take()).toEqual([]);
    script.acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('1,4,3,2 (adding 4,3, removing 3,2)');
    const marker = { topic: 'orders', topicId: 'orders-id' };
    script.event({ type: 'deletions-changed', markers: [marker] }).take();
    script.reassign({ 'orders/0': [1, 4] });
    expect(script.take()).toEqual(['answer 1 #1: orders/0 UNKNOWN_TOPIC']);
  });

  it('a cancellation of nothing', () => {
    const script = running([1, 2]);
    expect(script.reassign({ 'orders/0': 'cancel' }).take()).toEqual([
      'answer 1 #1: orders/0 INVALID_ARGUMENT',
    ]);
  });
});

test('several topics in one request are answered once, and each says what became of it', () => {
  const topics = [topicContext('orders', [[1, 2]]), topicContext('payments', [[1, 2]])];
  const script = new ControllerScript().begin([1, 2, 3], topics);
  script.reassign({ 'orders/0': [1, 3], 'payments/0': [1, 3] }).take();
  script.refuseUpdate('BAD_VERSION');
  expect(script.take()).toEqual(['refresh topics']);
  script.acknowledgeUpdates();
  expect(script.take().at(-1)).toBe('answer 1 #1: orders/0 BAD_VERSION, payments/0 done');
});
