/** Elections by command: preferred (KIP-460) and unclean. */
import {
  ControllerScript,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';

/** Broker 1 of 1,2,3 led orders/0 and failed; it is back in sync. */
function away(): ControllerScript {
  const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]])]);
  script.streamDown(1).refused(1).acknowledgeWrites().ready(1);
  script.alter(2, 'orders/0', [2, 3, 1]).acknowledgeWrites().take();
  expect(script.stored('orders/0')).toBe('leader 2, epoch 1.2, ISR 2,3,1');
  return script;
}

function elect(
  script: ControllerScript,
  kind: 'ELECTION_KIND_PREFERRED' | 'ELECTION_KIND_UNCLEAN' | 'ELECTION_KIND_UNSPECIFIED',
  ...partitions: number[]
): ControllerScript {
  const names = partitions.map((partition) => ({ topic: 'orders', topicId: '', partition }));
  return script.ask(3, { electLeaders: { kind, partitions: names } });
}

describe('a preferred election', () => {
  it('gives all that can be given back to their preferred leaders, and is answered when that is written', () => {
    const script = elect(away(), 'ELECTION_KIND_PREFERRED');
    expect(script.take()).toEqual(['write orders/0@2: leader 1 epoch 2 ISR 2,3,1']);
    script.acknowledgeWrites();
    expect(script.take()).toEqual([
      'publish to 1,2,3: orders/0 leader 1 epoch 2',
      'answer 3 #1: orders/0 done',
    ]);
  });

  it('is done already where the preferred leader leads', () => {
    const script = away();
    elect(script, 'ELECTION_KIND_PREFERRED', 0).acknowledgeWrites().take();
    expect(elect(script, 'ELECTION_KIND_PREFERRED', 0).take()).toEqual([
      'answer 3 #1: orders/0 done',
    ]);
    expect(elect(script, 'ELECTION_KIND_PREFERRED').take()).toEqual(['answer 3 #1: ']);
  });

  it('KAFKA-9866: is refused where the preferred leader is not in sync', () => {
    const script = away();
    script.alter(2, 'orders/0', [2, 3]).acknowledgeWrites().take();
    expect(elect(script, 'ELECTION_KIND_PREFERRED', 0).take()).toEqual([
      'answer 3 #1: orders/0 INELIGIBLE_REPLICA',
    ]);
  });

  it('is refused where it is drained', () => {
    const script = away();
    const settings = { brokerId: 1, configs: {}, duty: 'drained', version: 0 } as const;
    script.event({ type: 'settings-read', settings: [settings] }).take();
    expect(elect(script, 'ELECTION_KIND_PREFERRED', 0).take()).toEqual([
      'answer 3 #1: orders/0 INELIGIBLE_REPLICA',
    ]);
    expect(script.answers.at(-1)?.electedLeaders?.partitions?.[0]?.error?.hint).toBe(
      'It leads again once it is back in service: trib broker return 1.',
    );
  });

  it('waits for a write that is on its way', () => {
    const script = away();
    script.alter(2, 'orders/0', [2, 1]).take();
    elect(script, 'ELECTION_KIND_PREFERRED', 0);
    expect(script.take()).toEqual([]);
    script.acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 2.4, ISR 2,1');
    expect(script.take().at(-1)).toBe('answer 3 #1: orders/0 done');
  });

  it('says so where somebody else wrote in between', () => {
    const script = elect(away(), 'ELECTION_KIND_PREFERRED', 0);
    const { stored } = script.partition('orders/0');
    if (!stored) throw new Error('not stored');
    script.take();
    script.loseWrite({ ...stored, partitionEpoch: 7 });
    expect(script.take()).toContain('answer 3 #1: orders/0 INVALID_PARTITION_EPOCH');
  });

  it('is answered by a controller that resigns: nobody knows whether it was written', () => {
    const script = elect(away(), 'ELECTION_KIND_PREFERRED', 0);
    script.take();
    script.event({ type: 'resign', why: 'told to' });
    expect(script.take()).toContain('answer 3 #1: orders/0 TIMEOUT');
  });

  it('names what does not exist', () => {
    expect(elect(away(), 'ELECTION_KIND_PREFERRED', 7).take()).toEqual([
      'answer 3 #1: orders/7 UNKNOWN_PARTITION',
    ]);
    expect(elect(away(), 'ELECTION_KIND_UNSPECIFIED', 0).take()).toEqual([
      'answer 3 #1: INVALID_ARGUMENT',
    ]);
  });
});

describe('an unclean election', () => {
  /** The ISR is broker 1, which is gone; 2 and 3 have some of it. */
  function stuck(): ControllerScript {
    const state = { leader: 1, leaderEpoch: 4, isr: [1] };
    const topics = [topicContext('orders', [[1, 2, 3]], [storedState('orders', 0, state)])];
    const script = new ControllerScript();
    const brokers = [registered(2), registered(3)];
    script.event({
      type: 'elected',
      context: { brokers, topics, deletions: [], brokerSettings: [] },
    });
    for (const [id, logEndOffset] of [
      [2, 40],
      [3, 60],
    ] as const) {
      const replica = { topic: 'orders', topicId: 'orders-id', partition: 0, highWatermark: 40 };
      const told = { lastEpoch: 4, cutBelowHighWatermark: false, completeAgain: false };
      script.streamUp(id, 0, { replicas: [{ ...replica, ...told, logEndOffset }] }).acknowledge(id);
    }
    script.acknowledgeWrites().take();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 5.1, ISR 1');
    return script;
  }

  it('makes the longest log of those that live the only one in sync', () => {
    const script = elect(stuck(), 'ELECTION_KIND_UNCLEAN', 0).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 3, epoch 6.2, ISR 3, eligible 1');
    expect(script.take().at(-1)).toBe('answer 3 #1: orders/0 done');
  });

  it('is never done where somebody leads, or can lead without loss', () => {
    expect(elect(away(), 'ELECTION_KIND_UNCLEAN', 0).take()).toEqual([
      'answer 3 #1: orders/0 INELIGIBLE_REPLICA',
    ]);
  });

  it('needs its partitions named', () => {
    expect(elect(stuck(), 'ELECTION_KIND_UNCLEAN').take()).toEqual([
      'answer 3 #1: INVALID_ARGUMENT',
    ]);
  });

  it('needs a replica that lives', () => {
    const state = { leader: -1, leaderEpoch: 4, isr: [1] };
    const topics = [topicContext('orders', [[1, 2]], [storedState('orders', 0, state)])];
    const script = new ControllerScript().begin([3], topics);
    expect(elect(script, 'ELECTION_KIND_UNCLEAN', 0).take()).toEqual([
      'answer 3 #1: orders/0 LEADER_NOT_AVAILABLE',
    ]);
  });
});
