/**
 * A process whose session ended, and that registered anew, may hold seats in partitions of which it never heard. It says
 * which registrations it had before: a seat of one of those is as good as it was, whatever ended the process before it.
 */
import type { VersionedPartitionState } from '@tributary/coordination';
import type { LocalReplica } from '@tributary/protocol';
import type { ToldPast } from './controller-event';
import {
  ControllerScript,
  epochOf,
  registered,
  storedState,
  topicContext,
} from './controller-script.fixture';

const stops = ['NEVER_RAN', 'STOPPED_CLEANLY', 'STOPPED_BY_PROCESS', 'STOPPED_BY_MACHINE', 'STOP_KIND_UNSPECIFIED'] as const; // prettier-ignore

/** Broker 1 alone is in sync, by a seat of its life `given`; broker 3 left below min ISR, and is away. */
function led(given: number, changes: Partial<VersionedPartitionState> = {}) {
  const seatEpochs = new Map([
    [1, epochOf(1, given)],
    [3, epochOf(3)],
  ]);
  const state = { leader: 1, leaderEpoch: 4, isr: [1], eligibleLeaders: [3] };
  return storedState('orders', 0, { ...state, seatEpochs, ...changes });
}

/** A new controller finds broker 1 in its life 5, and hears this of its past. */
function elected(state: VersionedPartitionState, told: Partial<ToldPast>): ControllerScript {
  const topics = [topicContext('orders', [[1, 2, 3]], [state])];
  const brokers = [registered(1, 5)];
  const script = new ControllerScript();
  const context = { brokers, topics, deletions: [], brokerSettings: [] };
  script.event({ type: 'elected', context });
  return script.streamUp(1, 5, told).acknowledge(1, 5).acknowledgeWrites();
}

const none = 'leader -1, epoch 5.1, ISR 1, eligible 3';
const again = 'leader 1, epoch 5.1, ISR 1, eligible 3';

/** The log that recovery cut when this process began. */
const cut: LocalReplica = {
  topic: 'orders',
  topicId: 'orders-id',
  partition: 0,
  logEndOffset: 70,
  lastEpoch: 4,
  highWatermark: 100,
  cutBelowHighWatermark: true,
  completeAgain: false,
};

describe('its seat is of an earlier registration of the same process', () => {
  const earlierBrokerEpochs = [epochOf(1, 3), epochOf(1, 4)];

  test.each(stops)('%s: it leads in a new epoch, though it never heard of the partition', (previousStop) => {
    const told = { previousStop, previousBrokerEpoch: epochOf(1, 2), earlierBrokerEpochs };
    expect(elected(led(3), told).stored('orders/0')).toBe(again);
    expect(elected(led(4), told).stored('orders/0')).toBe(again);
  }); // prettier-ignore

  it('what recovery cut before that was settled when the seat was given', () => {
    const told: Partial<ToldPast> = { previousStop: 'STOPPED_BY_MACHINE', replicas: [cut] };
    expect(elected(led(4), { ...told, earlierBrokerEpochs }).stored('orders/0')).toBe(again);
    expect(elected(led(4), told).stored('orders/0')).toBe(none);
  });

  it('it leaves the ISR, like everybody who registered anew, where another holds its seat', () => {
    const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]])]);
    script.event({
      type: 'brokers-changed',
      brokers: [registered(1, 1), registered(2), registered(3)],
    });
    script.streamUp(1, 1, { previousStop: 'NEVER_RAN', earlierBrokerEpochs: [epochOf(1)] });
    script.acknowledge(1, 1).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 2, epoch 1.1, ISR 2,3');
  });

  it('its replica went offline meanwhile: it is away until that is over', () => {
    const topics = [topicContext('orders', [[1, 2, 3]], [led(4)])];
    const script = new ControllerScript();
    const context = { brokers: [registered(1, 5)], topics, deletions: [], brokerSettings: [] };
    script.event({ type: 'elected', context });
    script.streamUp(1, 5, { previousStop: 'NEVER_RAN', earlierBrokerEpochs });
    const outage = { topicId: 'orders-id', partition: 0, reason: 'its disk failed', incident: 1 };
    const who = { brokerId: 1, brokerEpoch: epochOf(1, 5) };
    script.event({ type: 'replicas-offline', ...who, replicas: [outage] });
    expect(script.acknowledge(1, 5).acknowledgeWrites().stored('orders/0')).toMatch(/^leader -1/);
  });
});

describe('its seat is of another process', () => {
  const never = { previousStop: 'NEVER_RAN' } as const;

  test.each<[string, Partial<ToldPast>]>([
    ['new disks: the first registration of a process has none before it', never],
    [
      'new disks, on which it has made an empty log since: another controller hears of that',
      { ...never, replicas: [{ ...cut, logEndOffset: 0, cutBelowHighWatermark: false }] },
    ],
    ['a broker that does not say, as an earlier version', { ...never, earlierBrokerEpochs: [] }],
    ['later registrations of this one', { ...never, earlierBrokerEpochs: [epochOf(1, 4)] }],
    [
      'another one had this broker id between two registrations of this one',
      { ...never, earlierBrokerEpochs: [epochOf(1, 2), epochOf(1, 4)] },
    ],
    [
      'a crash of the machine after that registration, and a session that ended since',
      {
        previousStop: 'STOPPED_BY_MACHINE',
        previousBrokerEpoch: epochOf(1, 3),
        earlierBrokerEpochs: [epochOf(1, 4)],
      },
    ],
  ])('%s: nobody leads', (_what, told) => {
    expect(elected(led(3), told).stored('orders/0')).toBe(none);
  });

  it('new disks with an empty log, and all members back: it is not the longest of them', () => {
    const empty = { ...cut, logEndOffset: 0, lastEpoch: -1, cutBelowHighWatermark: false };
    const told = { ...never, replicas: [empty] };
    expect(elected(led(3, { eligibleLeaders: [] }), told).stored('orders/0')).toBe(
      'leader -1, epoch 5.1, ISR 1',
    );
  });

  it('a state that does not say whose seats it gives: nobody leads', () => {
    const { seatEpochs: _none, ...state } = led(3, { writtenAt: epochOf(1, 3) + 1 });
    const told = { ...never, earlierBrokerEpochs: [epochOf(1, 3), epochOf(1, 4)] };
    expect(elected(state, told).stored('orders/0')).toBe(none);
  });

  it('what another registration of it told is dropped: a hello that arrives late changes nothing', () => {
    const script = elected(led(4), never);
    script.streamUp(1, 4, { ...never, earlierBrokerEpochs: [epochOf(1, 3)] });
    expect(script.acknowledge(1, 4).acknowledgeWrites().stored('orders/0')).toBe(none);
  });
});
