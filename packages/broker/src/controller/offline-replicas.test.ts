/** A broker lives, but the disk under one of its replicas failed. */
import { ControllerScript, epochOf, registered, topicContext } from './controller-script.fixture';

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

function fails(script: ControllerScript, brokerId: number, life = 0): ControllerScript {
  const replicas = [{ topicId: 'orders-id', partition: 0, reason: 'EIO' }];
  const brokerEpoch = epochOf(brokerId, life);
  return script.event({ type: 'replicas-offline', brokerId, brokerEpoch, replicas });
}

it('of the leader: another leads at once, and the ISR does without it; its other partitions stay', () => {
  const script = fails(running(), 1);
  expect(script.take()).toEqual(['write orders/0@0: leader 2 epoch 1 ISR 2,3']);
  script.acknowledgeWrites();
  expect(script.stored('orders/1')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
  expect(fails(script, 1).take()).not.toContain('write');
});

it('of a follower: it leaves the ISR, so that the HW does not wait for it', () => {
  expect(fails(running(), 3).take()).toEqual(['write orders/0@0: leader 1 epoch 0 ISR 1,2']);
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
    { topicId: 'other', partition: 0, reason: 'EIO' },
    { topicId: 'orders-id', partition: 9, reason: 'EIO' },
  ];
  script.event({ type: 'replicas-offline', brokerId: 1, brokerEpoch: epochOf(1), replicas });
  expect(script.take()).toEqual([]);
});

it('a controller that has just been elected hears of it before it begins', () => {
  const script = new ControllerScript();
  const brokers = [1, 2, 3].map((id) => registered(id));
  const topics = [topicContext('orders', [[1, 2, 3]])];
  script.event({ type: 'elected', context: { brokers, topics, deletions: [] } });
  fails(script.streamUp(1), 1).acknowledge(1);
  script.ready(2).ready(3).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 2, epoch 0.0, ISR 2,3');
});
