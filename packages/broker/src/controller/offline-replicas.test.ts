/** A broker lives, but one of its replicas cannot serve: its disk failed, or bytes of it are damaged. */
import { wireState } from './wire-state';
import {
  ControllerScript,
  epochOf,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';

function running(configs: Readonly<Record<string, string>> = {}): ControllerScript {
  const topics = [
    topicContext(
      'orders',
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
      [],
      configs,
    ),
  ];
  return new ControllerScript().begin([1, 2, 3], topics);
}

function fails(
  script: ControllerScript,
  brokerId: number,
  life = 0,
  incident = 1,
): ControllerScript {
  const replicas = [{ topicId: 'orders-id', partition: 0, reason: 'EIO', incident }];
  const brokerEpoch = epochOf(brokerId, life);
  return script.event({ type: 'replicas-offline', brokerId, brokerEpoch, replicas });
}

function restored(script: ControllerScript, brokerId: number, incident = 1): ControllerScript {
  const replicas = [{ topicId: 'orders-id', partition: 0, incident }];
  const brokerEpoch = epochOf(brokerId);
  return script.event({ type: 'replicas-restored', brokerId, brokerEpoch, replicas });
}

/** Who is told to be offline in the state as brokers would get it in an image now. */
function shownOffline(script: ControllerScript): number[] {
  const entry = script.partition('orders/0');
  return wireState(entry.stored!, entry, script.state).offlineReplicas.map((o) => o.brokerId);
}

it('of the leader: another leads at once, and the ISR does without it; its other partitions stay', () => {
  const script = fails(running(), 1);
  expect(script.take()).toEqual([
    'write orders/0@0: leader 2 epoch 1 ISR 2,3',
    'publish to 1,2,3: orders/0 leader 1 epoch 0 offline 1',
  ]);
  script.acknowledgeWrites();
  expect(script.stored('orders/1')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
  expect(fails(script, 1).take()).not.toContain('write');
});

it('of a follower: it leaves the ISR, so that the HW does not wait for it', () => {
  expect(fails(running(), 3).take()[0]).toBe('write orders/0@0: leader 1 epoch 0 ISR 1,2');
});

it('it joins no ISR and leads nothing before its broker starts again', () => {
  const script = fails(running(), 3).acknowledgeWrites();
  script.take();
  expect(script.alter(1, 'orders/0', [1, 2, 3]).take()).toEqual([
    'answer 1 #1: INELIGIBLE_REPLICA',
  ]);
  // Also over a break of the stream.
  script.streamDown(3).ready(3);
  expect(script.alter(1, 'orders/0', [1, 2, 3]).take()).toContain(
    'answer 1 #1: INELIGIBLE_REPLICA',
  );
  const brokers = [registered(1), registered(2), registered(3, 1)];
  script.event({ type: 'brokers-changed', brokers }).ready(3, 1).acknowledgeWrites();
  script.alter(1, 'orders/0', [1, 2, 3], { memberEpochs: { 3: epochOf(3, 1) } });
  expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1,2,3');
});

it('below min ISR it is no eligible leader: what its log will hold is unknown', () => {
  const script = running();
  script.alter(1, 'orders/0', [1]).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1, eligible 2,3');
  fails(script, 3).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1, eligible 2');
  fails(script, 1).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 2, epoch 1.3, ISR 2');
});

it('the last member of the ISR: nobody leads, and it does again when its broker has started anew', () => {
  const script = running({ 'min.insync.replicas': '1' });
  script.alter(1, 'orders/0', [1]).acknowledgeWrites();
  fails(script, 1).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader -1, epoch 1.2, ISR 1');
  const brokers = [registered(1, 1), registered(2), registered(3)];
  script.event({ type: 'brokers-changed', brokers }).acknowledgeWrites();
  script.ready(1, 1).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 1, epoch 2.3, ISR 1');
});

it('what an earlier life of the broker says is dropped; so is what no topic has', () => {
  const script = running();
  expect(fails(script, 1, 5).take()).toEqual([]);
  const replicas = [
    { topicId: 'other', partition: 0, reason: 'EIO', incident: 1 },
    { topicId: 'orders-id', partition: 9, reason: 'EIO', incident: 1 },
  ];
  script.event({ type: 'replicas-offline', brokerId: 1, brokerEpoch: epochOf(1), replicas });
  expect(script.take()).toEqual([]);
});

it('a controller that has just been elected hears of it before it begins', () => {
  const script = new ControllerScript();
  const brokers = [1, 2, 3].map((id) => registered(id));
  const topics = [topicContext('orders', [[1, 2, 3]])];
  script.event({
    type: 'elected',
    context: { brokers, topics, deletions: [], brokerSettings: [] },
  });
  fails(script.streamUp(1), 1).acknowledge(1);
  script.ready(2).ready(3).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 2, epoch 0.0, ISR 2,3');
});

describe('restored', () => {
  it('it may join the ISR again, and lead, in the same life of its broker', () => {
    const script = fails(running(), 1).acknowledgeWrites();
    restored(script, 1).take();
    expect(shownOffline(script)).toEqual([]);
    script.alter(2, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 1.2, ISR 1,2,3');
    expect(fails(script, 2).acknowledgeWrites().stored('orders/0')).toContain('leader 1');
  });

  it('of an earlier incident, or of another life, restores nothing', () => {
    const script = fails(running(), 3).acknowledgeWrites();
    fails(script, 3, 0, 2);
    restored(script, 3, 1);
    script.event({
      type: 'replicas-restored',
      brokerId: 3,
      brokerEpoch: epochOf(3, 1),
      replicas: [{ topicId: 'orders-id', partition: 0, incident: 9 }],
    });
    expect(shownOffline(script)).toEqual([3]);
    expect(shownOffline(restored(script, 3, 2))).toEqual([]);
  });

  it('told late of what it knows, the controller keeps what is newer', () => {
    const script = fails(running(), 3, 0, 2).acknowledgeWrites();
    script.take();
    expect(fails(script, 3, 0, 1).take()).toEqual([]);
    expect(shownOffline(restored(script, 3, 1))).toEqual([3]);
  });
});

describe('the permission to refill', () => {
  it('is not given while a write that gives the replica a seat is under way', () => {
    const script = fails(running(), 3).acknowledgeWrites();
    restored(script, 3).alter(1, 'orders/0', [1, 2, 3]);
    // The write is not acknowledged yet when broker 3 finds the next damage.
    fails(script, 3, 0, 2);
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1,2');
    expect(shownOffline(script)).toEqual([]);
    script.acknowledgeWrites();
    // It was in the ISR for a moment, and was taken out again.
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.3, ISR 1,2');
    expect(shownOffline(script)).toEqual([3]);
  });

  it('is told with the state that takes the seat away, and not before', () => {
    const script = fails(running(), 1);
    script.take();
    script.acknowledgeWrites();
    expect(script.take()).toEqual(['publish to 1,2,3: orders/0 leader 2 epoch 1 offline 1']);
  });

  it('ends with the registration', () => {
    const script = fails(running(), 3).acknowledgeWrites();
    const brokers = [registered(1), registered(2), registered(3, 1)];
    script.event({ type: 'brokers-changed', brokers });
    expect(shownOffline(script)).toEqual([]);
  });
});

describe('the loss on the last member of the ISR is accepted', () => {
  function lastOne(): ControllerScript {
    const script = running({ 'min.insync.replicas': '1' });
    script.alter(1, 'orders/0', [1]).acknowledgeWrites();
    return fails(script, 1).acknowledgeWrites();
  }

  it('it alone counts, in a leader epoch that nobody leads; it leads once it is restored', () => {
    const script = lastOne();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 1.2, ISR 1');
    script.take();
    script.alter(1, 'orders/0', [1], { acceptLoss: true }).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 2.3, ISR 1');
    expect(script.take()).toContain('answer 1 #1: ISR 1');
    restored(script, 1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 3.4, ISR 1');
  });

  it('members that are away do not come back into it', () => {
    const script = running({ 'min.insync.replicas': '1' });
    script.event({ type: 'brokers-changed', brokers: [registered(1)] });
    fails(script, 1).acknowledgeWrites();
    script.alter(1, 'orders/0', [1], { acceptLoss: true }).acknowledgeWrites();
    script.event({ type: 'brokers-changed', brokers: [1, 2, 3].map((id) => registered(id, id > 1 ? 1 : 0)) }); // prettier-ignore
    script.ready(2, 1).ready(3, 1).acknowledgeWrites();
    expect(script.stored('orders/0')).toContain('leader -1');
    restored(script, 1).acknowledgeWrites();
    expect(script.stored('orders/0')).toContain('leader 1');
  });

  it('is refused where a log is only in doubt, and others may come back with all', () => {
    const seatEpochs = new Map([1, 3].map((id) => [id, epochOf(id)]));
    const members = { isr: [1], eligibleLeaders: [3], seatEpochs };
    const state = storedState('orders', 0, { leader: 1, leaderEpoch: 4, ...members });
    const topics = [topicContext('orders', [[1, 2, 3]], [state])];
    const context = { brokers: [registered(1, 1)], topics, deletions: [], brokerSettings: [] };
    const script = new ControllerScript().event({ type: 'elected', context });
    script.streamUp(1, 1, { previousStop: 'STOPPED_BY_MACHINE' }).acknowledge(1, 1);
    expect(script.acknowledgeWrites().stored('orders/0')).toMatch(/^leader -1/);
    script.take();
    script.alter(1, 'orders/0', [1], { acceptLoss: true, brokerEpoch: epochOf(1, 1) });
    expect(script.take()).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
  });

  it('waits for a controller that has just been elected: it may yet hear of others that can lead', () => {
    const state = storedState('orders', 0, { leader: -1, leaderEpoch: 1, isr: [1, 2] });
    const topics = [topicContext('orders', [[1, 2, 3]], [state])];
    const brokers = [1, 2, 3].map((id) => registered(id));
    const context = { brokers, topics, deletions: [], brokerSettings: [] };
    const script = new ControllerScript().event({ type: 'elected', context }).ready(1);
    fails(script, 1).take();
    script.alter(1, 'orders/0', [1], { acceptLoss: true });
    expect(script.take()).toEqual(['answer 1 #1: TIMEOUT']);
  });

  it('is refused where another replica can lead, is in sync, or nothing is damaged', () => {
    const answer = (script: ControllerScript, brokerId: number): string[] => {
      script.take();
      script.alter(brokerId, 'orders/0', [brokerId], { acceptLoss: true });
      return script.take();
    };
    expect(answer(running(), 1)).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
    expect(answer(fails(running(), 1).acknowledgeWrites(), 1)).toEqual([
      'answer 1 #1: INELIGIBLE_REPLICA',
    ]);
    expect(answer(lastOne(), 2)).toEqual(['answer 2 #1: INELIGIBLE_REPLICA']);
    // Offline, but what it has is not what was committed.
    expect(answer(fails(lastOne(), 2), 2)).toEqual(['answer 2 #1: INELIGIBLE_REPLICA']);
    const fenced = lastOne();
    fenced.alter(1, 'orders/0', [1], { acceptLoss: true, brokerEpoch: 1 });
    expect(fenced.take()).toContain('answer 1 #1: FENCED_BROKER_EPOCH');
  });
});
