import type { RegisteredBroker } from '@tributary/coordination';
import {
  ControllerScript,
  epochOf,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';

function running(configs: Readonly<Record<string, string>> = {}): ControllerScript {
  return new ControllerScript().begin(
    [1, 2, 3],
    [topicContext('orders', [[1, 2, 3]], [], configs)],
  );
}

/** Elected, and not all brokers are accounted for: 1 leads as stored, with seats of first lives, and nothing is decided yet. */
function starting(brokers: readonly RegisteredBroker[]): ControllerScript {
  const seatEpochs = new Map([1, 2, 3].map((id) => [id, epochOf(id)]));
  const state = storedState('orders', 0, { leader: 1, isr: [1, 2, 3], seatEpochs });
  const topics = [topicContext('orders', [[1, 2, 3]], [state])];
  const context = { brokers, topics, deletions: [], brokerSettings: [] };
  return new ControllerScript().event({ type: 'elected', context });
}

describe('AlterPartition, checks in their order', () => {
  it('shrinks and expands; the delta comes before the answer', () => {
    const script = running();
    script.alter(1, 'orders/0', [1, 2]).acknowledgeWrites();
    expect(script.take()).toEqual([
      'write orders/0@0: leader 1 epoch 0 ISR 1,2',
      'publish to 1,2,3: orders/0 leader 1 epoch 0',
      'answer 1 #1: ISR 1,2',
    ]);
    script.alter(1, 'orders/0', [1, 2, 3]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1,2,3');
  });

  it('1. another broker epoch than the registered one (KIP-380)', () => {
    expect(running().alter(1, 'orders/0', [1], { brokerEpoch: 5 }).take()).toEqual([
      'answer 1 #1: FENCED_BROKER_EPOCH',
    ]);
  });

  it('2. epochs newer than ours: somebody else is controller', () => {
    const script = running();
    script.alter(1, 'orders/0', [1], { leaderEpoch: 9 });
    script.alter(1, 'orders/0', [1], { partitionEpoch: 9 });
    expect(script.take()).toEqual(['answer 1 #1: NOT_CONTROLLER', 'answer 1 #1: NOT_CONTROLLER']);
  });

  it('3. an older leader epoch, or somebody who does not lead', () => {
    const script = running();
    script.streamDown(1).refused(1).acknowledgeWrites().ready(1).take();
    script.alter(1, 'orders/0', [1], { leaderEpoch: 0 });
    script.alter(3, 'orders/0', [3]);
    expect(script.take()).toEqual([
      'answer 1 #1: FENCED_LEADER_EPOCH',
      'answer 3 #1: FENCED_LEADER_EPOCH',
    ]);
  });

  it('3. an older leader epoch of its own: fenced, so that it resigns, not told of an old version', () => {
    const topics = [topicContext('orders', [[1, 2, 3]])];
    const script = new ControllerScript().begin([1, 2, 3, 4], topics);
    script.reassign({ 'orders/0': [1, 2, 4] }).acknowledgeAll();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 1.1, ISR 1,2,3');
    script.take();
    script.alter(1, 'orders/0', [1, 2], { leaderEpoch: 0, partitionEpoch: 0 });
    expect(script.take()).toEqual(['answer 1 #1: FENCED_LEADER_EPOCH']);
  });

  it('3. a leader of an earlier life of its broker', () => {
    const script = starting([registered(1, 1), registered(2), registered(3)]).streamUp(1, 1);
    script.take();
    script.alter(1, 'orders/0', [1, 2], { brokerEpoch: epochOf(1, 1) });
    expect(script.take()).toEqual(['answer 1 #1: FENCED_LEADER_EPOCH']);
  });

  it('4. the same again after a lost answer is a success, though its version is old (KAFKA-14144)', () => {
    const script = running();
    script.alter(1, 'orders/0', [1, 2]).acknowledgeWrites().take();
    expect(script.alter(1, 'orders/0', [2, 1], { partitionEpoch: 0 }).take()).toEqual([
      'answer 1 #1: ISR 1,2',
    ]);
  });

  it('5. something else with an old version', () => {
    const script = running();
    script.alter(1, 'orders/0', [1, 2]).acknowledgeWrites().take();
    expect(script.alter(1, 'orders/0', [1], { partitionEpoch: 0 }).take()).toEqual([
      'answer 1 #1: INVALID_PARTITION_EPOCH',
    ]);
  });

  it('6. a dead broker does not join (KAFKA-13916, KAFKA-9672)', () => {
    const script = running();
    script.streamDown(3).refused(3).acknowledgeWrites().take();
    expect(script.alter(1, 'orders/0', [1, 2, 3]).take()).toEqual([
      'answer 1 #1: INELIGIBLE_REPLICA',
    ]);
  });

  it('6. a broker that shuts down does not join (KAFKA-14140)', () => {
    const script = running();
    script.event({
      type: 'controlled-shutdown',
      brokerId: 3,
      brokerEpoch: epochOf(3),
      requestId: 1,
    });
    script.acknowledgeWrites().take();
    expect(script.alter(1, 'orders/0', [1, 2, 3]).take()).toEqual([
      'answer 1 #1: INELIGIBLE_REPLICA',
    ]);
  });

  it('6. an attach of an earlier life does not admit the restarted replica (KAFKA-14617)', () => {
    const script = running();
    const now = [registered(1), registered(2), registered(3, 1)];
    script.event({ type: 'brokers-changed', brokers: now }).ready(3, 1);
    script.acknowledgeWrites().take();
    script.alter(1, 'orders/0', [1, 2, 3], { memberEpochs: { 3: epochOf(3, 0) } });
    expect(script.take()).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
    script.alter(1, 'orders/0', [1, 2, 3], { memberEpochs: { 3: epochOf(3, 1) } });
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1,2,3');
  });

  it('KAFKA-15021: a follower that shuts down is taken out at once, and the leader epoch stays', () => {
    const script = running();
    const brokerEpoch = epochOf(3);
    script.event({ type: 'controlled-shutdown', brokerId: 3, brokerEpoch, requestId: 1 });
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1,2');
  });

  it('a member that has failed is not kept', () => {
    const script = starting([registered(1), registered(2), registered(3)]).ready(1);
    script.streamUp(3).refused(3).take();
    script.alter(1, 'orders/0', [1, 3]);
    expect(script.take()).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
  });

  it('a member whose seat is that of an earlier life is not kept by the leader of another (KAFKA-14617)', () => {
    const script = starting([registered(1), registered(2), registered(3, 1)])
      .ready(1)
      .ready(3, 1);
    script.take();
    script.alter(1, 'orders/0', [1, 3], { memberEpochs: { 3: epochOf(3, 1) } });
    expect(script.take()).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
  });

  it('an ISR without its leader, with a stranger, or with one twice is an error of the caller', () => {
    const script = running();
    script.alter(1, 'orders/0', [2, 3]).alter(1, 'orders/0', [1, 4]).alter(1, 'orders/0', [1, 1]);
    expect(script.take()).toEqual([
      'answer 1 #1: INVALID_ARGUMENT',
      'answer 1 #1: INVALID_ARGUMENT',
      'answer 1 #1: INVALID_ARGUMENT',
    ]);
  });
});

describe('AlterPartition and writes', () => {
  it('requests during a write wait for it, a few of them', () => {
    const script = running();
    for (let requestId = 1; requestId <= 6; requestId += 1) {
      script.alter(1, 'orders/0', [1, 2], { requestId });
    }
    expect(script.take().at(-1)).toBe('answer 1 #6: TIMEOUT');
    script.acknowledgeWrites();
    expect(script.take().slice(1)).toEqual([1, 2, 3, 4, 5].map((id) => `answer 1 #${id}: ISR 1,2`));
  });

  it('one that lost its compare-and-set is told so, and is shown what is there (KAFKA-2729, KAFKA-1382)', () => {
    const script = running();
    script.alter(1, 'orders/0', [1, 2]).take();
    const { stored } = script.partition('orders/0');
    if (!stored) throw new Error('not stored');
    script.loseWrite({ ...stored, leaderEpoch: 3, partitionEpoch: 3 });
    expect(script.take()).toEqual([
      'publish to 1,2,3: orders/0 leader 1 epoch 3',
      'answer 1 #1: INVALID_PARTITION_EPOCH',
    ]);
  });
});

describe('eligible leaders (KIP-966)', () => {
  it('who leaves below min ISR may still be elected; a full ISR forgets them', () => {
    const script = running({ 'min.insync.replicas': '2' });
    script.alter(1, 'orders/0', [1, 2]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1,2');
    script.alter(1, 'orders/0', [1]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1, eligible 2');
    script.alter(1, 'orders/0', [1, 3]).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.3, ISR 1,3');
  });

  it('elected only when no member of the ISR is eligible', () => {
    const script = running({ 'min.insync.replicas': '2' });
    script.alter(1, 'orders/0', [1, 2]).acknowledgeWrites();
    script.alter(1, 'orders/0', [1]).acknowledgeWrites();
    script.streamDown(1).refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 1.3, ISR 2, eligible 1');
  });

  it('with min ISR 1 nobody outside the ISR is elected', () => {
    const script = running({ 'min.insync.replicas': '1' });
    script.alter(1, 'orders/0', [1]).acknowledgeWrites();
    script.streamDown(1).refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 1.2, ISR 1');
  });
});
