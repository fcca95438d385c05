import { TributaryError } from '@tributary/common';
import {
  ControllerScript,
  epochOf,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';

const orders = topicContext('orders', [[1, 2, 3]]);

/** orders/0 on 1,2,3 with leader 1 and everybody in sync, all brokers ready. */
function running(): ControllerScript {
  return new ControllerScript().begin([1, 2, 3], [orders]);
}

describe('taking office', () => {
  it('dials every registered broker and elects nothing before their streams are up', () => {
    const script = new ControllerScript();
    script.event({
      type: 'elected',
      context: {
        brokers: [registered(1), registered(2)],
        topics: [orders],
        deletions: [],
        brokerSettings: [],
      },
    });
    expect(script.take()).toEqual(['dial 1', 'dial 2']);
    expect(script.streamUp(1).take()).toEqual(['image to 1']);
    expect(script.acknowledge(1).take()).toEqual(['publish to 1: broker 1 ok']);
  });

  it('begins before the grace is over once all registered brokers are accounted for', () => {
    const script = new ControllerScript();
    const states = [storedState('orders', 0, { leader: 3, leaderEpoch: 4, isr: [1, 2, 3] })];
    script.event({
      type: 'elected',
      context: {
        brokers: [registered(1), registered(2), registered(3)],
        topics: [topicContext('orders', [[1, 2, 3]], states)],
        deletions: [],
        brokerSettings: [],
      },
    });
    script.ready(1).ready(2).take();
    expect(script.refused(3).take()).toEqual(['write orders/0@0: leader 1 epoch 5 ISR 1,2']);
  });

  it('a leader whose stream is not up keeps leading through the grace, and not longer', () => {
    const script = new ControllerScript();
    const states = [storedState('orders', 0, { leader: 3, leaderEpoch: 4, isr: [1, 2, 3] })];
    script.event({
      type: 'elected',
      context: {
        brokers: [registered(1), registered(2), registered(3)],
        topics: [topicContext('orders', [[1, 2, 3]], states)],
        deletions: [],
        brokerSettings: [],
      },
    });
    script.ready(1).ready(2).take();
    expect(script.event({ type: 'timer', timer: 'stream-grace' }).take()).toEqual([
      'write orders/0@0: leader 1 epoch 5 ISR 1,2',
    ]);
  });

  it('after a restart of all, partitions stay where they are', () => {
    const states = [storedState('orders', 0, { leader: 2, leaderEpoch: 4, isr: [2, 3] })];
    const script = new ControllerScript();
    script.begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]], states)]);
    expect(script.stored('orders/0')).toBe('leader 2, epoch 4.0, ISR 2,3');
  });

  it('a timer of the grace that comes late changes nothing', () => {
    expect(running().event({ type: 'timer', timer: 'stream-grace' }).take()).toEqual([]);
  });
});

describe('topic created', () => {
  it('first eligible replica leads, ISR is the eligible ones, epoch 0; published after the write', () => {
    const script = new ControllerScript().begin([1, 2]);
    script.event({
      type: 'topics-changed',
      names: ['orders'],
      topics: [topicContext('orders', [[3, 2, 1]])],
    });
    expect(script.take()).toEqual(['write orders/0@new: leader 2 epoch 0 ISR 2,1']);
    expect(script.acknowledgeWrites().take()).toEqual([
      'publish to 1,2: topic orders; orders/0 leader 2 epoch 0',
    ]);
  });

  it('appears only with all its partitions', () => {
    const script = new ControllerScript().begin([1, 2]);
    script.event({
      type: 'topics-changed',
      names: ['orders'],
      topics: [topicContext('orders', [[1], [3]])],
    });
    script.acknowledgeWrites();
    expect(script.take().filter((line) => line.startsWith('publish'))).toEqual([]);
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1), registered(2), registered(3)],
    });
    script.ready(3).take();
    expect(script.acknowledgeWrites().take()).toEqual([
      'publish to 1,2,3: topic orders; orders/0 leader 1 epoch 0; orders/1 leader 3 epoch 0',
    ]);
  });

  it('NODE_EXISTS is read back: what is stored counts', () => {
    const script = new ControllerScript().begin([1, 2, 3]);
    script.event({ type: 'topics-changed', names: ['orders'], topics: [orders] }).take();
    script.loseWrite(storedState('orders', 0, { leader: 2, leaderEpoch: 3, isr: [2, 3] }));
    expect(script.take()).toEqual(['publish to 1,2,3: topic orders; orders/0 leader 2 epoch 3']);
  });
});

describe('broker dies', () => {
  it('broken stream and refused re-dial: new leaders from the ISR at once, dead one out of it', () => {
    const script = running();
    expect(script.streamDown(1).take()).toEqual([]);
    expect(script.refused(1).take()).toEqual([
      'write orders/0@0: leader 2 epoch 1 ISR 2,3',
      'publish to 2,3: broker 1 out',
    ]);
    expect(script.acknowledgeWrites().take()).toEqual([
      'publish to 2,3: orders/0 leader 2 epoch 1',
    ]);
  });

  it('broken stream and successful re-dial: imaged again, nothing moves', () => {
    const script = running();
    script.streamDown(1);
    expect(script.streamUp(1).take()).toEqual(['image to 1']);
    expect(script.acknowledge(1).take()).toEqual([]);
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
  });

  it('only the acknowledgement of its image makes it ready again, not one of what came before', () => {
    const script = running();
    script.streamDown(2).streamUp(2);
    const { sequence } = script.state;
    const standing = (): string | undefined => script.state.brokers.get(2)?.standing;
    const acknowledged = { type: 'acknowledged', brokerId: 2, brokerEpoch: epochOf(2) } as const;
    script.event({ ...acknowledged, sequence: sequence - 1 });
    expect(standing()).toBe('reimaging');
    script.event({ ...acknowledged, sequence });
    expect(standing()).toBe('ready');
  });

  it('a dead follower leaves the ISR; the leader epoch stays (KAFKA-15021)', () => {
    const script = running();
    script.streamDown(3).refused(3).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.1, ISR 1,2');
  });

  it('end of the session without a broken stream: the same', () => {
    const script = running();
    script.event({ type: 'brokers-changed', brokers: [registered(2), registered(3)] });
    expect(script.take()).toEqual([
      'hang up 1',
      'write orders/0@0: leader 2 epoch 1 ISR 2,3',
      'publish to 2,3: no broker 1',
    ]);
  });

  it('silence: out, and its stream is cut', () => {
    const script = running();
    expect(script.late(2).take()).toEqual([
      'cut 2',
      'write orders/0@0: leader 1 epoch 0 ISR 1,3',
      'publish to 1,3: broker 2 out',
    ]);
  });

  it('most silent at once: resigns instead of electing', () => {
    const script = running();
    expect(script.late(2, 3).take()).toEqual(['resign: most brokers are silent']);
    expect(script.ready(2).refused(3).take()).toEqual([]);
  });

  it('last replica standing: the ISR is never emptied, the leader is none', () => {
    const script = new ControllerScript().begin([1, 2], [topicContext('orders', [[2]])]);
    script.streamDown(2).refused(2).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 1.1, ISR 2');
    script.ready(2).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 2.2, ISR 2');
  });

  it('all of an ISR dead: whoever of it returns first leads, others are not asked', () => {
    const states = [storedState('orders', 0, { leader: 2, leaderEpoch: 4, isr: [2, 3] })];
    const script = new ControllerScript();
    script.begin([1, 2, 3, 4], [topicContext('orders', [[1, 2, 3]], states)]);
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(4)] });
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 5.1, ISR 2,3');
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1), registered(4), registered(3, 1)],
    });
    script.ready(3, 1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 3, epoch 6.2, ISR 3, eligible 2');
  });

  it('bounced broker (same id, newer czxid): failure, then startup (KAFKA-7235)', () => {
    const script = running();
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1, 1), registered(2), registered(3)],
    });
    expect(script.take()).toEqual([
      'hang up 1',
      'dial 1',
      'write orders/0@0: leader 2 epoch 1 ISR 2,3',
      'publish to 2,3: broker 1 out',
    ]);
  });

  it('what an earlier life of a broker says is dropped (KAFKA-7235)', () => {
    const script = running();
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1, 1), registered(2), registered(3)],
    });
    script.acknowledgeWrites().take();
    expect(script.streamUp(1, 0).acknowledge(1, 0).refused(1, 0).take()).toEqual([]);
    expect(script.ready(1, 1).take()).toEqual(['image to 1', 'publish to 1,2,3: broker 1 ok']);
  });

  it('an older view of the registry does not undo a bounce', () => {
    const script = running();
    const now = [registered(1, 1), registered(2), registered(3)];
    script.event({ type: 'brokers-changed', brokers: now }).acknowledgeWrites().take();
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1, 0), registered(2), registered(3)],
    });
    expect(script.take()).toEqual([]);
  });
});

describe('writes', () => {
  it('one in flight per partition; what changed meanwhile is decided when it is done', () => {
    const script = running();
    script.streamDown(1).refused(1).take();
    script.streamDown(2).refused(2);
    expect(script.take()).toEqual(['publish to 3: broker 2 out']);
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 3, epoch 2.2, ISR 3, eligible 2');
  });

  it('BAD_VERSION of one partition: what is there now counts and is decided again', () => {
    const script = running();
    script.streamDown(1).refused(1).take();
    script.loseWrite(
      storedState('orders', 0, { leader: 1, leaderEpoch: 5, partitionEpoch: 9, isr: [1, 3] }),
    );
    expect(script.take()).toEqual([
      'write orders/0@9: leader 3 epoch 6 ISR 3 eligible 1',
      'publish to 2,3: orders/0 leader -1 epoch 5',
    ]);
  });

  it('a node that is missing is never created again under the old topic id', () => {
    const script = running();
    script.streamDown(1).refused(1).take();
    script.loseWrite(undefined);
    const said = script.take();
    expect(said).toContain('refresh topics');
    expect(said.filter((line) => line.startsWith('write'))).toEqual([]);
    expect(script.streamDown(2).refused(2).take()).toEqual(['publish to 3: broker 2 out']);
  });

  it('the state of another topic of that name is not taken for its own', () => {
    const script = running();
    script.streamDown(1).refused(1).take();
    const next = { topicId: 'next-id', leader: 3, leaderEpoch: 9, isr: [3] };
    script.loseWrite(storedState('orders', 0, next));
    expect(script.take()).toContain('refresh topics');
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.0, ISR 1,2,3');
  });

  it('fenced by a newer controller: resigns, and stays so (KAFKA-6082, KAFKA-4447)', () => {
    const script = running();
    script.streamDown(1).refused(1).take();
    const error = new TributaryError('STALE_CONTROLLER_EPOCH', 'newer');
    expect(script.event({ type: 'write-failed', error }).take()).toEqual([
      'resign: a newer controller exists',
    ]);
    expect(script.refused(2).alter(2, 'orders/0', [2]).take()).toEqual([]);
  });

  it('outcome unknown: resigns, and the leader that waits learns TIMEOUT', () => {
    const script = running();
    script.alter(1, 'orders/0', [1, 2]).take();
    const error = new TributaryError('COORDINATOR_UNAVAILABLE', 'lost');
    expect(script.event({ type: 'write-failed', error }).take()).toEqual([
      'answer 1 #1: TIMEOUT',
      'resign: outcome of a write unknown: lost',
    ]);
  });
});

describe('controlled shutdown', () => {
  it('moves leaderships first, answers 0 after the writes, and leaves its ISRs', () => {
    const script = running();
    script.event({
      type: 'controlled-shutdown',
      brokerId: 1,
      brokerEpoch: epochOf(1),
      requestId: 4,
    });
    expect(script.take()).toEqual([
      'write orders/0@0: leader 2 epoch 1 ISR 2,3',
      'publish to 1,2,3: broker 1 out',
    ]);
    expect(script.acknowledgeWrites().take()).toEqual([
      'publish to 1,2,3: orders/0 leader 2 epoch 1',
      'answer 1: leads 0',
    ]);
  });

  it('what nobody can take over stays, and is said', () => {
    const script = new ControllerScript().begin([1, 2], [topicContext('orders', [[1]])]);
    script.event({
      type: 'controlled-shutdown',
      brokerId: 1,
      brokerEpoch: epochOf(1),
      requestId: 4,
    });
    expect(script.take()).toContain('answer 1: leads 1');
  });

  it('a retry that reaches the next life is refused (KIP-380)', () => {
    const script = running();
    script.event({ type: 'controlled-shutdown', brokerId: 1, brokerEpoch: 1, requestId: 4 });
    expect(script.take()).toEqual(['answer 1: FENCED_BROKER_EPOCH']);
  });
});
