import type { StopResult } from '@tributary/protocol';
import { ControllerScript, epochOf, registered, topicContext } from './controller-script.fixture';

const orders = { topic: 'orders', topicId: 'orders-id' };

function running(): ControllerScript {
  return new ControllerScript().begin([1, 2], [topicContext('orders', [[1, 2]])]);
}

function stopped(partition: number, error: StopResult['error'] = null): StopResult {
  return { topicId: 'orders-id', partition, dataDeleted: !error, error };
}

function confirm(script: ControllerScript, brokerId: number, life = 0): ControllerScript {
  const brokerEpoch = epochOf(brokerId, life);
  return script.event({ type: 'replicas-stopped', brokerId, brokerEpoch, results: [stopped(0)] });
}

describe('topic deleted', () => {
  it('leaves the image at once, is deleted everywhere, then its nodes go', () => {
    const script = running();
    script.event({ type: 'deletions-changed', markers: [orders] });
    expect(script.take()).toEqual([
      'publish to 1,2: no topic orders-id; delete orders/0 on 1; delete orders/0 on 2',
    ]);
    expect(confirm(script, 1).take()).toEqual([]);
    expect(confirm(script, 2).take()).toEqual(['complete deletion of orders']);
    script.event({ type: 'deletion-completed', topicId: 'orders-id' });
    expect(script.take()).toEqual(['refresh topics']);
    expect(script.state.topics.size).toBe(0);
  });

  it('waits for a broker that is registered, dead or not, and tells it when it returns', () => {
    const script = running();
    script.streamDown(2).refused(2).acknowledgeWrites();
    script.event({ type: 'deletions-changed', markers: [orders] });
    confirm(script, 1).take();
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([]);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    script.streamUp(2, 1).take();
    expect(script.acknowledge(2, 1).take()).toEqual([
      'publish to 1,2: broker 2 ok; delete orders/0 on 2',
    ]);
    expect(confirm(script, 2, 1).take()).toEqual(['complete deletion of orders']);
  });

  it('a confirmation of an earlier life does not count', () => {
    const script = running();
    script.event({ type: 'deletions-changed', markers: [orders] });
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(2, 1)] });
    confirm(script, 1).take();
    expect(confirm(script, 2, 0).take()).toEqual([]);
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([]);
    expect(script.ready(2, 1).take().at(-1)).toMatch('delete orders/0 on 2');
  });

  it('its nodes stay while a state is being written into them', () => {
    const script = running().alter(1, 'orders/0', [1]);
    script.event({ type: 'deletions-changed', markers: [orders] });
    confirm(script, 1).take();
    expect(confirm(script, 2).take()).toEqual([]);
    script.acknowledgeWrites();
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toContain(
      'complete deletion of orders',
    );
  });

  it('its name is not free while an update of it is on its way, or it could be written into the next topic', () => {
    const script = running().ask(1, { alterTopic: { setConfigs: { flush: 'sync' } } });
    script.event({ type: 'deletions-changed', markers: [orders] });
    confirm(script, 1).take();
    expect(confirm(script, 2).take()).toEqual([]);
    expect(script.acknowledgeUpdates().take()).toContain('complete deletion of orders');
  });

  it('a failed deletion on a broker is asked for again', () => {
    const script = running();
    script.event({ type: 'deletions-changed', markers: [orders] });
    const error = {
      code: 'STORAGE_ERROR' as const,
      message: 'disk',
      hint: '',
      outcome: 'OUTCOME_UNSPECIFIED' as const,
      leader: null,
    };
    const results = [stopped(0, error)];
    script.event({ type: 'replicas-stopped', brokerId: 1, brokerEpoch: epochOf(1), results });
    confirm(script, 2).take();
    expect(script.event({ type: 'timer', timer: 'deletion-retry' }).take()).toEqual([
      'publish to 1,2: delete orders/0 on 1',
    ]);
  });

  it('nothing is elected for a topic that is being deleted', () => {
    const script = running();
    script.event({ type: 'deletions-changed', markers: [orders] }).take();
    expect(script.streamDown(1).refused(1).take()).toEqual(['publish to 2: broker 1 out']);
  });

  it('AlterPartition for it is refused', () => {
    const script = running();
    script.event({ type: 'deletions-changed', markers: [orders] }).take();
    expect(script.alter(1, 'orders/0', [1]).take()).toEqual(['answer 1 #1: UNKNOWN_TOPIC']);
  });

  it('a new controller goes on where the last one stopped', () => {
    const script = new ControllerScript();
    script.event({
      type: 'elected',
      context: {
        brokers: [registered(1), registered(2)],
        topics: [topicContext('orders', [[1, 2]])],
        deletions: [orders],
        brokerSettings: [],
      },
    });
    script.ready(1).take();
    expect(script.ready(2).take()).toEqual([
      'image to 2',
      'publish to 1,2: broker 2 ok; delete orders/0 on 1; delete orders/0 on 2',
    ]);
  });

  it('a marker of a topic that is gone is cleared', () => {
    const script = running();
    const marker = { topic: 'old', topicId: 'old-id' };
    script.event({ type: 'deletions-changed', markers: [marker] });
    expect(script.take()).toEqual(['complete deletion of old']);
  });

  it('a topic whose node vanished leaves the image, and no data is deleted', () => {
    const script = running();
    script.event({ type: 'topics-changed', names: [], topics: [] });
    expect(script.take()).toEqual(['publish to 1,2: no topic orders-id']);
  });

  it('so does one whose name another topic has by now; that one is a new topic', () => {
    const script = running();
    const { record } = topicContext('orders', [[2, 1]]);
    const next = { record: { ...record, topicId: 'orders-2-id' }, states: [] };
    script.event({ type: 'topics-changed', names: ['orders'], topics: [next] });
    expect(script.take()).toEqual([
      'write orders/0@new: leader 2 epoch 0 ISR 2,1',
      'publish to 1,2: no topic orders-id',
    ]);
    expect([...script.state.topics.keys()]).toEqual(['orders-2-id']);
  });
});
