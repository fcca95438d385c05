import { seededRandom, TributaryError } from '@tributary/common';
import type { BrokerInfo, ControllerAnswer, PartitionState, TopicInfo } from '@tributary/protocol';
import { SimulatedClock } from '@tributary/testkit';
import { defaultControlLimits } from '../control-limits';
import { ClusterImage } from '../metadata/cluster-image';
import { MetadataCache } from '../metadata/metadata-cache';
import type { ControllerCommand } from '../seams';
import { alterBroker } from './admin-alter-broker';
import { alterTopic } from './admin-alter-topic';
import type { CommandOptions } from './admin-ask-controller';
import { electLeaders } from './admin-elect-leaders';
import { reassignPartitions } from './admin-reassign-partitions';

const context = { listener: 'inside', peer: 'p', signal: new AbortController().signal };

function state(changes: Partial<PartitionState> = {}): PartitionState {
  return {
    topic: 'orders',
    topicId: 'orders-id',
    partition: 0,
    leader: 2,
    leaderEpoch: 4,
    partitionEpoch: 9,
    controllerEpoch: 1,
    isr: [1, 2],
    replicas: [1, 2],
    eligibleLeaders: [],
    offlineReplicas: [],
    addingReplicas: [],
    removingReplicas: [],
    ...changes,
  };
}

interface Pictured {
  readonly configs?: TopicInfo['configs'];
  readonly partitions?: readonly PartitionState[];
  readonly brokers?: readonly Partial<BrokerInfo>[];
}

function imageOf({ configs = {}, partitions = [state()], brokers = [] }: Pictured): ClusterImage {
  return ClusterImage.from({
    controllerId: 1,
    controllerEpoch: 1,
    sequence: 1,
    brokers: brokers.map((broker) => ({
      ...{ brokerId: 1, brokerEpoch: 1, endpoints: [], rack: '', eligible: true, configs: {} },
      duty: 'BROKER_DUTY_UNSPECIFIED',
      ...broker,
    })),
    topics: [{ topic: 'orders', topicId: 'orders-id', configs, deleting: false }],
    partitions: [...partitions],
  });
}

type Step = Partial<ControllerAnswer> | TributaryError | 'silence';

/** A broker whose way to the controller does what the script says, step by step. */
function world(...script: Step[]) {
  const clock = new SimulatedClock();
  const metadata = new MetadataCache();
  metadata.replace(imageOf({}));
  const asked: ControllerCommand[] = [];
  const controller = {
    askController(command: ControllerCommand): Promise<ControllerAnswer> {
      const step = script[asked.length] ?? 'silence';
      asked.push(command);
      if (step === 'silence') return new Promise(() => undefined);
      if (step instanceof TributaryError) return Promise.reject(step);
      return Promise.resolve({ requestId: 1, ...step });
    },
  };
  const options: CommandOptions = {
    ...{ controller, metadata, clock, random: seededRandom(1), limits: defaultControlLimits },
  };
  const done = <T>(work: Promise<T>): Promise<T> => clock.settleWithin(work, 60_000);
  return { clock, metadata, asked, options, done };
}

const toAlter = {
  topic: 'orders',
  topicId: '',
  setConfigs: { 'retention.ms': '1000' },
  removeConfigs: [] as string[],
  partitions: 0,
  newAssignments: [],
  timeoutMs: 5_000,
  validateOnly: false,
};
const altered = {
  alteredTopic: {
    topic: 'orders',
    topicId: 'orders-id',
    configs: { 'retention.ms': '1000' },
    partitions: 1,
  },
};
const unavailable = new TributaryError('UNAVAILABLE', 'no control stream', {
  outcome: 'not written',
});
const lost = new TributaryError('TIMEOUT', 'the control stream ended', {
  outcome: 'maybe written',
});

describe('AlterTopic', () => {
  it('answers when this broker shows the setting', async () => {
    const { clock, metadata, options, done } = world(altered);
    const answering = alterTopic(options, toAlter, context);
    clock.setTimer(100, () => metadata.replace(imageOf({ configs: { 'retention.ms': '1000' } })));
    expect(await done(answering)).toEqual(altered.alteredTopic);
    expect(clock.now()).toBe(100);
  });

  it('answers when new partitions are led; an old one may be without a leader', async () => {
    const answer = { alteredTopic: { ...altered.alteredTopic, configs: {}, partitions: 2 } };
    const { clock, metadata, options, done } = world(answer);
    const old = state({ leader: -1 });
    metadata.replace(imageOf({ partitions: [old] }));
    const answering = alterTopic(options, { ...toAlter, setConfigs: {}, partitions: 2 }, context);
    const added = (leader: number): PartitionState => state({ partition: 1, leader });
    clock.setTimer(100, () => metadata.replace(imageOf({ partitions: [old, added(-1)] })));
    clock.setTimer(200, () => metadata.replace(imageOf({ partitions: [old, added(1)] })));
    expect(await done(answering)).toMatchObject({ partitions: 2 });
    expect(clock.now()).toBe(200);
  });

  it('asks again while the controller changes, also after an answer that was lost', async () => {
    const { metadata, asked, options, done } = world(unavailable, lost, altered);
    metadata.replace(imageOf({ configs: { 'retention.ms': '1000' } }));
    expect(await done(alterTopic(options, toAlter, context))).toEqual(altered.alteredTopic);
    expect(asked).toHaveLength(3);
  });

  it('without a controller until the end: not written', async () => {
    const { options, done } = world(...Array.from({ length: 100 }, () => unavailable));
    await expect(done(alterTopic(options, toAlter, context))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'not written',
    });
  });

  it.each([
    ['with one answer lost on the way', [lost, unavailable, 'silence'] as const],
    ['without an answer', ['silence'] as const],
  ])('%s: maybe written', async (_, script) => {
    const { options, done } = world(...script);
    await expect(done(alterTopic(options, toAlter, context))).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome: 'maybe written',
    });
  });

  it('an image that is late is told as done', async () => {
    const { options, done } = world(altered);
    await expect(done(alterTopic(options, toAlter, context))).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome: 'written',
      message: expect.stringContaining('topic orders was altered, but'),
    });
  });

  it('what the controller refuses is not asked again', async () => {
    const refusal = new TributaryError('UNKNOWN_TOPIC', 'no', { outcome: 'not written' });
    const { asked, options, done } = world(refusal, altered);
    const answering = alterTopic(options, toAlter, context);
    await expect(done(answering)).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(asked).toHaveLength(1);
  });

  it('a look without a change waits for nothing', async () => {
    const { clock, options, done } = world(altered);
    await done(alterTopic(options, { ...toAlter, validateOnly: true }, context));
    expect(clock.now()).toBe(0);
  });

  it.each([
    [{ setConfigs: {} }, 'INVALID_ARGUMENT', 'nothing of topic orders would change'],
    [{ setConfigs: { nonsense: '1' } }, 'INVALID_CONFIG', 'nonsense does not exist'],
    [{ setConfigs: { flush: 'no' } }, 'INVALID_CONFIG', 'flush=no'],
    [{ removeConfigs: ['nonsense'] }, 'INVALID_CONFIG', 'nonsense does not exist'],
    [{ removeConfigs: ['retention.ms'] }, 'INVALID_ARGUMENT', 'set and removed at once'],
    [{ partitions: -1 }, 'INVALID_PARTITIONS', '-1 partitions'],
    [{ newAssignments: [{ replicas: [1] }] }, 'INVALID_ARGUMENT', 'without a count'],
    [{ partitions: 2, newAssignments: [{ replicas: [1, 1] }] }, 'INVALID_ARGUMENT', 'two replicas'],
    [{ topic: '../x' }, 'INVALID_TOPIC', ''],
  ])('%j is refused at the edge', async (change, code, message) => {
    const { asked, options } = world();
    await expect(alterTopic(options, { ...toAlter, ...change }, context)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect(asked).toEqual([]);
  });
});

describe('ReassignPartitions', () => {
  const move = { topic: 'orders', topicId: '', partition: 0, replicas: [3, 2], cancel: false };
  const named = { topic: 'orders', topicId: 'orders-id', partition: 0, error: null };
  const moving = state({ replicas: [3, 2, 1], addingReplicas: [3], removingReplicas: [1] });

  it('answers when this broker shows what comes and goes', async () => {
    const { clock, metadata, options, done } = world({ reassignedPartitions: { partitions: [named] } }); // prettier-ignore
    const request = { reassignments: [move], timeoutMs: 5_000 };
    const answering = reassignPartitions(options, request, context);
    clock.setTimer(100, () => metadata.replace(imageOf({ partitions: [moving] })));
    expect((await done(answering)).partitions).toEqual([named]);
    expect(clock.now()).toBe(100);
  });

  it('one that is refused is answered, not waited for', async () => {
    const error = { code: 'UNKNOWN_BROKER', message: '', hint: '', outcome: 'NOT_WRITTEN', leader: null } as const; // prettier-ignore
    const { options, done } = world({ reassignedPartitions: { partitions: [{ ...named, error }] } }); // prettier-ignore
    const request = { reassignments: [move], timeoutMs: 5_000 };
    const answer = await done(reassignPartitions(options, request, context));
    expect(answer.partitions).toMatchObject([{ error: { code: 'UNKNOWN_BROKER' } }]);
  });

  it('a cancelled one is answered when nothing comes or goes', async () => {
    const { clock, metadata, options, done } = world({ reassignedPartitions: { partitions: [named] } }); // prettier-ignore
    metadata.replace(imageOf({ partitions: [moving] }));
    const cancel = { ...move, replicas: [], cancel: true };
    const request = { reassignments: [cancel], timeoutMs: 5_000 };
    const answering = reassignPartitions(options, request, context);
    clock.setTimer(100, () => metadata.replace(imageOf({})));
    await done(answering);
    expect(clock.now()).toBe(100);
  });

  it.each([
    [[], 'no partition to move'],
    [[move, move], 'named twice'],
    [[{ ...move, replicas: [] }], 'would have no replica'],
    [[{ ...move, replicas: [1, 1] }], 'two replicas on broker 1'],
    [[{ ...move, replicas: [-1] }], '-1 is no broker id'],
    [[{ ...move, cancel: true }], 'a cancelled move has no replicas'],
    [[{ ...move, partition: -1 }], 'the first one is 0'],
  ])('%j is refused at the edge', async (reassignments, message) => {
    const { asked, options } = world();
    const request = { reassignments, timeoutMs: 1_000 };
    await expect(reassignPartitions(options, request, context)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    });
    expect(asked).toEqual([]);
  });
});

describe('ElectLeaders', () => {
  const answer = {
    electedLeaders: {
      partitions: [{ topic: 'orders', topicId: 'orders-id', partition: 0, error: null }],
    },
  };
  const preferred = {
    kind: 'ELECTION_KIND_PREFERRED' as const,
    partitions: [],
    timeoutMs: 5_000,
  };

  it.each([
    ['the preferred replica leads', { leader: 1 }],
    ['another one was elected after it', { leader: 2, leaderEpoch: 6 }],
  ])('answers when this broker shows that %s', async (_, change) => {
    const { clock, metadata, options, done } = world(answer);
    const answering = electLeaders(options, preferred, context);
    clock.setTimer(100, () => metadata.replace(imageOf({ partitions: [state(change)] })));
    expect(await done(answering)).toEqual(answer.electedLeaders);
    expect(clock.now()).toBe(100);
  });

  it('an unclean one of everything, or of no kind, is refused', async () => {
    const { asked, options } = world();
    for (const kind of ['ELECTION_KIND_UNCLEAN', 'ELECTION_KIND_UNSPECIFIED'] as const) {
      const request = { ...preferred, kind };
      await expect(electLeaders(options, request, context)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    expect(asked).toEqual([]);
  });
});

describe('AlterBroker', () => {
  const drain = {
    brokerId: 1,
    setConfigs: {},
    removeConfigs: [],
    duty: 'BROKER_DUTY_DRAINED' as const,
    timeoutMs: 5_000,
  };
  const answer = { alteredBroker: { configs: {}, duty: 'BROKER_DUTY_DRAINED' as const } };

  it('answers when this broker shows the duty', async () => {
    const { clock, metadata, options, done } = world(answer);
    metadata.replace(imageOf({ brokers: [{}] }));
    const answering = alterBroker(options, drain, context);
    clock.setTimer(100, () => metadata.replace(imageOf({ brokers: [{ duty: drain.duty }] })));
    expect(await done(answering)).toEqual(answer.alteredBroker);
    expect(clock.now()).toBe(100);
  });

  it('one that is not registered is in no image to wait for', async () => {
    const { clock, options, done } = world(answer);
    await done(alterBroker(options, { ...drain, brokerId: 7 }, context));
    expect(clock.now()).toBe(0);
  });

  it.each([
    [{ brokerId: -2 }, '-2 is no broker id'],
    [{ brokerId: -1 }, 'all brokers cannot have one duty'],
    [{ duty: 'BROKER_DUTY_UNSPECIFIED' as const }, 'nothing of broker 1 would change'],
    [{ setConfigs: { a: '1' }, removeConfigs: ['a'] }, 'set and removed at once'],
  ])('%j is refused at the edge', async (change, message) => {
    const { asked, options } = world();
    await expect(alterBroker(options, { ...drain, ...change }, context)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    });
    expect(asked).toEqual([]);
  });
});
