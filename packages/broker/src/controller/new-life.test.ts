/**
 * A broker that was killed and started again: what its seats in the stored states are worth. When its machine lost
 * power it has less in its log than it had, so that leading on in the old epoch would cut its followers.
 */
import {
  ControllerScript,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';
import { imageChunks } from './image-messages';

describe('a broker that died and returned while there was no controller', () => {
  /** Broker 3 led in epoch 4; those of `anew` have registered since that was written. */
  function elected(...anew: readonly number[]): ControllerScript {
    const state = { leader: 3, leaderEpoch: 4, isr: [1, 2, 3], writtenAt: 500 };
    const brokers = [1, 2, 3].map((id) => registered(id, anew.includes(id) ? 1 : 0));
    const topics = [topicContext('orders', [[3, 1, 2]], [storedState('orders', 0, state)])];
    const script = new ControllerScript();
    script.event({
      type: 'elected',
      context: { brokers, topics, deletions: [], brokerSettings: [] },
    });
    for (const id of [1, 2, 3]) script.ready(id, anew.includes(id) ? 1 : 0);
    return script;
  }

  it('does not lead on: it may have lost what was not synced. It leaves the ISR', () => {
    const script = elected(3);
    const [image] = imageChunks(script.state);
    expect(image?.partitions).toMatchObject([{ leader: -1, leaderEpoch: 4 }]);
    expect(script.take()).toContain('write orders/0@0: leader 1 epoch 5 ISR 1,2');
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 5.1, ISR 1,2');
  });

  it('leaves the ISR as a follower', () => {
    expect(elected(2).take()).toContain('write orders/0@0: leader 3 epoch 4 ISR 1,3');
  });

  it('leads in a new epoch where all have died, and the ISR stays', () => {
    const script = elected(1, 2, 3);
    expect(script.take()).toContain('write orders/0@0: leader 3 epoch 5 ISR 1,2,3');
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 3, epoch 5.1, ISR 1,2,3');
  });
});

test('a broker that died and returned under a controller is not told that it leads by the old state', () => {
  const topic = topicContext('orders', [[1, 2, 3]]);
  const script = new ControllerScript().begin([1, 2, 3], [topic]);
  const brokers = [registered(1, 1), registered(2), registered(3)];
  script.event({ type: 'brokers-changed', brokers }).streamUp(1, 1);
  expect(imageChunks(script.state)[0]?.partitions).toMatchObject([{ leader: -1 }]);
  script.acknowledgeWrites();
  expect(imageChunks(script.state)[0]?.partitions).toMatchObject([{ leader: 2, isr: [2, 3] }]);
});
