import type { AlterTopicRequest } from '@tributary/protocol';
import { maxWaitingCommands } from './waiting-commands';
import { ControllerScript, settings, storedState, topicContext } from './controller-script.fixture';

/** Three brokers, one topic `orders` with RF 3 and min ISR 2. */
function running(configs: Readonly<Record<string, string>> = {}): ControllerScript {
  return new ControllerScript().begin(
    [1, 2, 3],
    [topicContext('orders', [[1, 2, 3]], [], configs)],
  );
}

function altered(script: ControllerScript, alterTopic: Partial<AlterTopicRequest>): string[] {
  return script.ask(1, { alterTopic }).take();
}

function refusal(script: ControllerScript, alterTopic: Partial<AlterTopicRequest>): unknown {
  script.ask(1, { alterTopic });
  return script.answers.at(-1)?.error;
}

describe('settings of a topic altered', () => {
  it('are written, then published, then answered', () => {
    const script = running({ 'segment.bytes': '4096' });
    const setConfigs = { 'retention.ms': '60000' };
    expect(altered(script, { setConfigs, removeConfigs: ['segment.bytes'] })).toEqual([
      'update topic orders@0',
    ]);
    expect(script.acknowledgeUpdates().take()).toEqual([
      'publish to 1,2,3: topic orders',
      'answer 1 #1: done',
    ]);
    expect(script.answers.at(-1)?.alteredTopic).toEqual({
      topic: 'orders',
      topicId: 'orders-id',
      configs: { 'retention.ms': '60000' },
      partitions: 1,
    });
  });

  it('nothing to change: answered at once', () => {
    const script = running({ 'retention.ms': '60000' });
    const setConfigs = { 'retention.ms': '60000' };
    expect(altered(script, { setConfigs, partitions: 1 })).toEqual(['answer 1 #1: done']);
  });

  it('validate only: the same answer, and nothing is written', () => {
    const script = running();
    const setConfigs = { flush: 'sync' };
    expect(altered(script, { setConfigs, partitions: 3, validateOnly: true })).toEqual([
      'answer 1 #1: done',
    ]);
    const { alteredTopic } = script.answers.at(-1) ?? {};
    expect(alteredTopic).toMatchObject({ configs: { flush: 'sync' }, partitions: 3 });
    expect(script.acknowledgeUpdates().take()).toEqual([]);
  });

  it.each([
    [{ setConfigs: { 'retention.ms': 'soon' } }, 'retention.ms=soon'],
    [{ setConfigs: { 'retention.hours': '1' } }, 'retention.hours'],
    [{ removeConfigs: ['retention.hours'] }, 'retention.hours'],
    [{ setConfigs: { flush: 'os' }, removeConfigs: ['flush'] }, 'flush'],
    [{ setConfigs: { 'min.insync.replicas': '4' } }, 'min.insync.replicas=4'],
  ])('refused naming the setting: %j', (request, named) => {
    const error = refusal(running(), request);
    expect(error).toMatchObject({ code: 'INVALID_CONFIG', outcome: 'NOT_WRITTEN' });
    expect(error).toMatchObject({ message: expect.stringContaining(named) });
  });

  it('a setting that an earlier version stored and this one does not know may be removed', () => {
    const script = running({ 'of.another.version': '1' });
    expect(altered(script, { removeConfigs: ['of.another.version'] })).toEqual([
      'update topic orders@0',
    ]);
  });

  it('refused: no such topic, another topic of that name', () => {
    expect(refusal(running(), { topic: 'other' })).toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(refusal(running(), { topicId: 'old' })).toMatchObject({ code: 'TOPIC_ID_MISMATCH' });
  });

  it('refused while the topic is being deleted', () => {
    const script = running();
    const markers = [{ topic: 'orders', topicId: 'orders-id' }];
    script.event({ type: 'deletions-changed', markers }).take();
    expect(refusal(script, { partitions: 3 })).toMatchObject({ code: 'UNKNOWN_TOPIC' });
  });
});

describe('unclean.leader.election.enable', () => {
  it('set while nobody is left to lead: one that lives leads, though it lacks what was committed', () => {
    const script = running({ 'min.insync.replicas': '1' });
    script.alter(1, 'orders/0', [1]).acknowledgeWrites();
    script.streamDown(1).refused(1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader -1, epoch 1.2, ISR 1');
    const setConfigs = { 'unclean.leader.election.enable': 'true' };
    script.ask(2, { alterTopic: { setConfigs } }).acknowledgeAll();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 2.3, ISR 2');
    expect(script.journal.at(-1)).toMatch('unclean: none of 1 can lead');
  });
});

describe('alterations that meet', () => {
  it('the second one waits for the first and is decided on what it wrote', () => {
    const script = running();
    altered(script, { setConfigs: { flush: 'sync' } });
    script.ask(2, { alterTopic: { setConfigs: { 'retention.ms': '1000' } } }, 2);
    expect(script.take()).toEqual([]);
    expect(script.acknowledgeUpdates().take()).toEqual([
      'update topic orders@1',
      'publish to 1,2,3: topic orders',
      'answer 1 #1: done',
      'publish to 1,2,3: topic orders',
      'answer 2 #2: done',
    ]);
    expect(script.answers.at(-1)?.alteredTopic?.configs).toEqual({
      flush: 'sync',
      'retention.ms': '1000',
    });
  });

  it('somebody else wrote first: refused, and read again', () => {
    const script = running();
    altered(script, { setConfigs: { flush: 'sync' } });
    expect(script.refuseUpdate('BAD_VERSION').take()).toEqual([
      'refresh topics',
      'answer 1 #1: BAD_VERSION',
    ]);
  });

  it('a view of the topic from before does not undo what was written; one that is newer counts', () => {
    const script = running();
    altered(script, { setConfigs: { flush: 'sync' } });
    script.acknowledgeUpdates().take();
    const read = (version: number): unknown => {
      const { record } = topicContext('orders', [[1, 2, 3]]);
      const topics = [{ record: { ...record, version }, states: [] }];
      script.event({ type: 'topics-changed', names: ['orders'], topics });
      return script.state.topics.get('orders-id')?.record.configs;
    };
    expect(read(0)).toEqual({ flush: 'sync' });
    expect(read(7)).toEqual({});
  });

  it('too many wait: refused, to be tried again', () => {
    const script = running();
    for (let request = 0; request <= maxWaitingCommands; request += 1) {
      altered(script, { setConfigs: { flush: 'sync' } });
    }
    expect(altered(script, { setConfigs: { flush: 'sync' } })).toEqual(['answer 1 #1: OVERLOADED']);
  });

  it('a controller that resigns answers those that write and those that wait', () => {
    const script = running();
    altered(script, { setConfigs: { flush: 'sync' } });
    script.ask(2, { alterTopic: { partitions: 2 } }, 2);
    expect(script.event({ type: 'resign', why: 'it stops' }).take()).toEqual([
      'answer 1 #1: TIMEOUT',
      'answer 2 #2: NOT_CONTROLLER',
      'resign: it stops',
    ]);
    expect(script.answers.map(({ error }) => error?.outcome)).toEqual([
      'MAYBE_WRITTEN',
      'NOT_WRITTEN',
    ]);
  });

  it('a topic that goes while it is altered: who writes and who waits are answered all the same', () => {
    const script = running();
    altered(script, { setConfigs: { flush: 'sync' } });
    script.ask(2, { alterTopic: { partitions: 2 } }, 2);
    script.event({ type: 'topics-changed', names: [], topics: [] });
    expect(script.take()).toEqual([
      'publish to 1,2,3: no topic orders-id',
      'answer 1 #1: UNKNOWN_TOPIC',
      'answer 2 #2: UNKNOWN_TOPIC',
    ]);
    expect(script.acknowledgeUpdates().take()).toEqual([]);
  });
});

describe('partitions added', () => {
  it('as placed by the controller: they get leaders and appear', () => {
    const script = running();
    expect(altered(script, { partitions: 3 })).toEqual(['update topic orders@0']);
    script.acknowledgeUpdates();
    expect(script.take()).toEqual([
      expect.stringMatching(/^write orders\/1@new: leader [23] epoch 0 ISR .,.,.$/),
      expect.stringMatching(/^write orders\/2@new: leader [23] epoch 0 ISR .,.,.$/),
      'publish to 1,2,3: topic orders',
      'answer 1 #1: done',
    ]);
    const leaders = script.acknowledgeWrites().take();
    expect(leaders).toEqual([
      expect.stringMatching(/orders\/1 leader [23] epoch 0; orders\/2 leader [23] epoch 0/),
    ]);
  });

  it('as given', () => {
    const script = running();
    const newAssignments = [{ replicas: [3, 1, 2] }];
    altered(script, { partitions: 2, newAssignments });
    script.acknowledgeUpdates().acknowledgeWrites();
    expect(script.stored('orders/1')).toBe('leader 3, epoch 0.0, ISR 3,1,2');
  });

  it.each([
    ['fewer than there are', { partitions: 1 }, 'INVALID_PARTITIONS'],
    [
      'more than possible',
      { partitions: settings.maxPartitionsPerTopic + 1 },
      'INVALID_PARTITIONS',
    ],
    ['below zero', { partitions: -1 }, 'INVALID_PARTITIONS'],
    ['more assignments than partitions', given(3, [1, 2], [2, 1]), 'INVALID_PARTITIONS'],
    ['assignments and no new partitions', given(2, [1, 2]), 'INVALID_PARTITIONS'],
    ['one replica too few', given(3, [1]), 'INVALID_REPLICATION_FACTOR'],
    ['a broker twice', given(3, [1, 1]), 'INVALID_REPLICATION_FACTOR'],
    ['a broker that is not registered', given(3, [1, 9]), 'UNKNOWN_BROKER'],
  ])('refused: %s', (_, request, code) => {
    const script = new ControllerScript().begin(
      [1, 2],
      [
        topicContext('orders', [
          [1, 2],
          [2, 1],
        ]),
      ],
    );
    expect(refusal(script, request)).toMatchObject({ code, outcome: 'NOT_WRITTEN' });
  });

  it('placed: refused where too few brokers are left', () => {
    const two = new ControllerScript().begin([1, 2], [topicContext('orders', [[1, 2, 3]])]);
    expect(refusal(two, { partitions: 2 })).toMatchObject({ code: 'INVALID_REPLICATION_FACTOR' });
  });
});

function given(partitions: number, ...lists: number[][]): Partial<AlterTopicRequest> {
  return { partitions, newAssignments: lists.map((replicas) => ({ replicas })) };
}

describe('min.insync.replicas lowered', () => {
  function withFrozenPartition(minIsr: string, isr: number[], eligibleLeaders: number[]) {
    const state = storedState('orders', 0, { leader: 1, isr, eligibleLeaders });
    const configs = { 'min.insync.replicas': minIsr };
    return new ControllerScript().begin(
      [1, 2, 3],
      [topicContext('orders', [[1, 2, 3]], [state], configs)],
    );
  }

  it('who left under the higher one loses the seat before the leader may commit alone', () => {
    const script = withFrozenPartition('2', [1], [2, 3]);
    expect(altered(script, { setConfigs: { 'min.insync.replicas': '1' } })).toEqual([
      'write orders/0@0: leader 1 epoch 0 ISR 1',
    ]);
    expect(script.acknowledgeWrites().take()).toEqual([
      'update topic orders@0',
      'publish to 1,2,3: orders/0 leader 1 epoch 0',
    ]);
    expect(script.acknowledgeUpdates().take()).toEqual([
      'publish to 1,2,3: topic orders',
      'answer 1 #1: done',
    ]);
  });

  it('a member that leaves while the setting is being written gets no seat', () => {
    const script = running({ 'min.insync.replicas': '2' });
    altered(script, { setConfigs: { 'min.insync.replicas': '1' } });
    expect(script.alter(1, 'orders/0', [1]).take()).toEqual([
      'write orders/0@0: leader 1 epoch 0 ISR 1',
    ]);
  });

  it('seats of an ISR that is still too small stay', () => {
    const script = withFrozenPartition('3', [1], [2, 3]);
    expect(altered(script, { setConfigs: { 'min.insync.replicas': '2' } })).toEqual([
      'update topic orders@0',
    ]);
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.0, ISR 1, eligible 2,3');
  });

  it('raised: who leaves from now on may be elected', () => {
    const script = running({ 'min.insync.replicas': '1' });
    altered(script, { setConfigs: { 'min.insync.replicas': '2' } });
    script.acknowledgeUpdates().take();
    expect(script.alter(1, 'orders/0', [1]).take()).toEqual([
      'write orders/0@0: leader 1 epoch 0 ISR 1 eligible 2,3',
    ]);
  });
});
