/** Deletions of topics while brokers are away. */
import { TributaryError } from '@tributary/common';
import type { AgedOwedDeletion } from '@tributary/coordination';
import type { StopResult } from '@tributary/protocol';
import { ControllerScript, epochOf, registered, topicContext } from './controller-script.fixture';
import { maxOwedDeletionAgeMs, maxOwedDeletions } from './owed-deletions';

const orders = { topic: 'orders', topicId: 'orders-id' };
const owedBy2: AgedOwedDeletion = { ...orders, brokerId: 2, partitions: [0, 1], ageMs: 1_000 };

/** Broker 2 has replicas of both partitions, and is not registered. */
function withoutBroker2(): ControllerScript {
  const script = new ControllerScript().begin(
    [1, 2],
    [
      topicContext('orders', [
        [1, 2],
        [2, 1],
      ]),
    ],
  );
  script
    .event({ type: 'brokers-changed', brokers: [registered(1)] })
    .acknowledgeWrites()
    .take();
  return script;
}

function deleted(script: ControllerScript): ControllerScript {
  script.event({ type: 'deletions-changed', markers: [orders] });
  return confirm(script, 1);
}

function confirm(script: ControllerScript, brokerId: number, life = 0): ControllerScript {
  const results = [0, 1].map((partition): StopResult => ({
    ...orders,
    partition,
    dataDeleted: true,
    error: null,
  }));
  const brokerEpoch = epochOf(brokerId, life);
  return script.event({ type: 'replicas-stopped', brokerId, brokerEpoch, results });
}

function elected(owedDeletions: AgedOwedDeletion[], duty?: 'decommissioned'): ControllerScript {
  const none = { topics: [], deletions: [] };
  const brokerSettings = duty ? [{ brokerId: 2, configs: {}, duty, version: 0 }] : [];
  const context = { ...none, brokers: [registered(1)], brokerSettings, owedDeletions };
  return new ControllerScript().event({ type: 'elected', context }).ready(1);
}

describe('a topic deleted while a broker is away', () => {
  it('goes when all registered brokers have confirmed, and what the other has is noted', () => {
    const script = deleted(withoutBroker2());
    expect(script.take()).toEqual([
      'publish to 1: no topic orders-id; delete orders/0 on 1; delete orders/1 on 1',
      'complete deletion of orders, owed by 2',
    ]);
    script.event({ type: 'deletion-completed', topicId: 'orders-id' });
    expect(script.state.topics.size).toBe(0);
  });

  it('the broker deletes it when it returns, by the id that was deleted, and the note goes', () => {
    const script = deleted(withoutBroker2());
    script.event({ type: 'deletion-completed', topicId: 'orders-id' }).take();
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.streamUp(2, 1).take();
    expect(script.acknowledge(2, 1).take()).toEqual([
      'publish to 1,2: broker 2 ok; delete orders/0 on 2; delete orders/1 on 2',
    ]);
    expect(confirm(script, 2, 1).take()).toEqual(['settle orders on 2']);
    script.event({ type: 'owed-settled', owed: owedBy2 });
    expect(script.state.owedDeletions.size).toBe(0);
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([]);
  });

  it('what an earlier life of it confirms does not count', () => {
    const script = deleted(withoutBroker2());
    script.event({ type: 'deletion-completed', topicId: 'orders-id' });
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] }).take();
    expect(confirm(script, 2, 0).take()).toEqual([]);
    script.streamUp(2, 1).acknowledge(2, 1);
    expect(script.stopped(2)).toEqual(['orders-id', 'orders-id']);
  });

  it('a topic of the same name that was created meanwhile is another one', () => {
    const script = deleted(withoutBroker2());
    script.event({ type: 'deletion-completed', topicId: 'orders-id' });
    const record = { topic: 'orders', topicId: 'next-id', assignment: [[1, 2]], configs: {} };
    const topics = [{ record: { ...record, version: 0 }, states: [] }];
    script.event({ type: 'topics-changed', names: ['orders'], topics }).acknowledgeWrites();
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.streamUp(2, 1).acknowledge(2, 1).acknowledgeWrites();
    expect(script.stopped(2)).toEqual(['orders-id', 'orders-id']);
  });

  it('a broker that registers while the nodes are being removed is told as soon as they are', () => {
    const script = deleted(withoutBroker2());
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.ready(2, 1).take();
    script.event({ type: 'deletion-completed', topicId: 'orders-id' });
    expect(script.take()).toEqual([
      'refresh topics',
      'publish to 1,2: delete orders/0 on 2; delete orders/1 on 2',
    ]);
  });

  it('a broker that is decommissioned owes it like any other: it may be put in service again', () => {
    const script = withoutBroker2();
    const duty = 'BROKER_DUTY_DECOMMISSIONED';
    script
      .ask(1, { alterBroker: { brokerId: 2, duty } })
      .acknowledgeUpdates()
      .take();
    expect(deleted(script).take().at(-1)).toBe('complete deletion of orders, owed by 2');
  });
});

describe('notes that a new controller finds', () => {
  it('are acted on when the broker returns', () => {
    const script = elected([owedBy2]);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.streamUp(2, 1).take();
    expect(script.acknowledge(2, 1).take().join()).toContain('delete orders/0 on 2');
  });

  it('too old: given up, what lies there stays as a stray', () => {
    const old = { ...owedBy2, ageMs: maxOwedDeletionAgeMs + 1 };
    const script = elected([old]);
    expect(script.take()).toContain('settle orders on 2');
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    expect(script.ready(2, 1).take().join()).not.toContain('delete');
  });

  it('of a broker that is decommissioned and gone: kept', () => {
    const script = elected([owedBy2], 'decommissioned');
    expect(script.take()).not.toContain('settle orders on 2');
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    expect(script.ready(2, 1).take().join()).toContain('delete orders/0 on 2');
  });

  it(`more than ${maxOwedDeletions}: the oldest are given up`, () => {
    const notes = Array.from({ length: maxOwedDeletions + 2 }, (_, index) => {
      const topic = `topic-${index}`;
      return { topic, topicId: `${topic}-id`, brokerId: 2, partitions: [0], ageMs: 5_000 - index };
    });
    const settled = elected(notes)
      .take()
      .filter((line) => line.startsWith('settle'));
    expect(settled).toEqual(['settle topic-0 on 2', 'settle topic-1 on 2']);
  });

  it('one that could not be removed is removed later', () => {
    const script = elected([owedBy2]);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    confirm(script.ready(2, 1), 2, 1).take();
    const error = new TributaryError('TIMEOUT', 'no reply');
    script.event({ type: 'owed-failed', owed: owedBy2, error });
    const retry = script.event({ type: 'timer', timer: 'deletion-retry' }).take();
    expect(retry).toEqual(['settle orders on 2']);
  });

  it('a failure on the broker: asked again', () => {
    const script = elected([owedBy2]);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.ready(2, 1).take();
    const wire = { code: 'STORAGE_ERROR' as const, message: 'disk', hint: '', leader: null };
    const error = { ...wire, outcome: 'OUTCOME_UNSPECIFIED' as const };
    const results = [{ ...orders, partition: 0, dataDeleted: false, error }];
    const brokerEpoch = epochOf(2, 1);
    script.event({ type: 'replicas-stopped', brokerId: 2, brokerEpoch, results });
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([
      'publish to 1,2: delete orders/0 on 2; delete orders/1 on 2',
    ]);
  });
});
