/**
 * After a crash of a machine (docs/adr/0020-what-a-seat-is-worth.md): who may lead, and who must catch up first. Kafka's
 * answer is KIP-966; without one the last member standing, its page cache gone, truncates all others.
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

/** A broker's hello: how its process before stopped, and what lies on its disk. */
function told(
  previousStop: ToldPast['previousStop'],
  replica: Partial<LocalReplica> = {},
  previousBrokerEpoch?: number,
): Partial<ToldPast> {
  const complete: LocalReplica = {
    topic: 'orders',
    topicId: 'orders-id',
    partition: 0,
    logEndOffset: 100,
    lastEpoch: 4,
    highWatermark: 100,
    cutBelowHighWatermark: false,
    completeAgain: false,
    ...replica,
  };
  const epoch = previousBrokerEpoch === undefined ? {} : { previousBrokerEpoch };
  return { previousStop, replicas: [complete], ...epoch };
}

const machine = told('STOPPED_BY_MACHINE');

/** Broker 1 of 1,2,3 leads in epoch 4; the seats are those of first lives unless `changes` say otherwise. */
function led(changes: Partial<VersionedPartitionState> = {}): VersionedPartitionState {
  const { isr = [1, 2, 3], eligibleLeaders = [] } = changes;
  const seats = [...isr, ...eligibleLeaders].map((id): [number, number] => [id, epochOf(id)]);
  const seatEpochs = new Map(seats);
  return storedState('orders', 0, { leader: 1, leaderEpoch: 4, isr, seatEpochs, ...changes });
}

/** A new controller finds these brokers registered, each in its second life, or in its first. */
function elected(
  state: VersionedPartitionState,
  lives: Readonly<Record<number, number>>,
  configs: Readonly<Record<string, string>> = {},
): ControllerScript {
  const brokers = Object.entries(lives).map(([id, life]) => registered(Number(id), life));
  const topics = [topicContext('orders', [[1, 2, 3]], [state], configs)];
  const script = new ControllerScript();
  script.event({
    type: 'elected',
    context: { brokers, topics, deletions: [], brokerSettings: [] },
  });
  return script;
}

function returned(script: ControllerScript, id: number, hello: Partial<ToldPast>, life = 1): void {
  script.streamUp(id, life, hello).acknowledge(id, life);
}

/** Another one is registered, beside those that are. */
function joins(script: ControllerScript, id: number, hello: Partial<ToldPast>, life = 1): void {
  const others = [...script.state.brokers.values()].map(({ registration }) => registration);
  const brokers = [...others.filter(({ brokerId }) => brokerId !== id), registered(id, life)];
  script.event({ type: 'brokers-changed', brokers });
  returned(script, id, hello, life);
}

describe('one machine went down, others did not', () => {
  it('its broker leaves the ISR, and leads nothing', () => {
    const script = elected(led(), { 1: 1, 2: 0, 3: 0 });
    returned(script, 1, machine);
    returned(script, 2, {}, 0);
    returned(script, 3, {}, 0);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 2, epoch 5.1, ISR 2,3');
  });

  it('it is no eligible leader any more, though it left below min ISR', () => {
    const state = led({ leader: 2, isr: [2], eligibleLeaders: [1] });
    const script = elected(state, { 1: 1, 2: 0 });
    returned(script, 1, machine);
    returned(script, 2, {}, 0);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 2, epoch 4.1, ISR 2');
  });

  it('it rejoins by catching up, and has a seat of its new life from then on', () => {
    const script = elected(led({ leader: 2, isr: [2, 3] }), { 1: 1, 2: 0, 3: 0 });
    returned(script, 1, machine);
    returned(script, 2, {}, 0);
    returned(script, 3, {}, 0);
    script.alter(2, 'orders/0', [2, 3, 1], { memberEpochs: { 1: epochOf(1, 1) } });
    script.acknowledgeWrites();
    script.streamDown(2).refused(2).streamDown(3).refused(3).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 5.3, ISR 1, eligible 3');
  });

  it('an eligible leader whose process died with its page cache intact is elected in its place', () => {
    const state = led({ leader: 1, isr: [1], eligibleLeaders: [3] });
    const script = elected(state, { 1: 1, 3: 1 });
    returned(script, 1, machine);
    returned(script, 3, told('STOPPED_BY_PROCESS'));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 3, epoch 5.1, ISR 3');
  });
});

describe('all machines went down', () => {
  it('nobody leads while a member is absent that may have it all: the last one standing waits, too', () => {
    const script = elected(led({ isr: [1], eligibleLeaders: [3] }), { 1: 1 });
    returned(script, 1, machine);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe(
      'leader -1, epoch 5.1, ISR 1, eligible 3',
    );
    joins(script, 3, told('STOPPED_BY_PROCESS'));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 3, epoch 6.2, ISR 3');
  });

  it('once all members are back the longest log leads: by epoch, then by log end', () => {
    const script = elected(led(), { 1: 1, 2: 1 });
    returned(script, 1, told('STOPPED_BY_MACHINE', { lastEpoch: 4, logEndOffset: 70 }));
    returned(script, 2, told('STOPPED_BY_MACHINE', { lastEpoch: 4, logEndOffset: 90 }));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader -1, epoch 5.1, ISR 1,2,3');
    joins(script, 3, told('STOPPED_BY_MACHINE', { lastEpoch: 3, logEndOffset: 95 }));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 2, epoch 6.2, ISR 2');
  });

  it('it does so under another controller just as well: the doubts are told again', () => {
    const leaderless = led({ leader: -1, leaderEpoch: 5 });
    const script = elected(leaderless, { 1: 1, 2: 1, 3: 1 });
    for (const id of [1, 2, 3]) {
      const logEndOffset = 100 - id;
      returned(script, id, told('STOPPED_BY_MACHINE', { logEndOffset }));
    }
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 1, epoch 6.1, ISR 1');
  });

  it('one that is the longest, and gone again before it could lead, is waited for', () => {
    const script = elected(led({ isr: [1, 2] }), { 1: 1, 2: 1 });
    script.streamUp(2, 1, told('STOPPED_BY_MACHINE', { logEndOffset: 99 }));
    script.event({ type: 'brokers-changed', brokers: [registered(1, 1)] });
    returned(script, 1, told('STOPPED_BY_MACHINE', { logEndOffset: 50 }));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader -1, epoch 5.1, ISR 1,2');
    joins(script, 2, told('STOPPED_BY_MACHINE', { logEndOffset: 99 }), 2);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 2, epoch 6.2, ISR 2');
  });

  it('one that is the longest, and does not take its image, is waited for, too', () => {
    const script = elected(led({ isr: [1, 2] }), { 1: 1, 2: 1 });
    returned(script, 1, told('STOPPED_BY_MACHINE', { logEndOffset: 50 }));
    script.streamUp(2, 1, told('STOPPED_BY_MACHINE', { logEndOffset: 99 })).refused(2, 1);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader -1, epoch 5.1, ISR 1,2');
    returned(script, 2, told('STOPPED_BY_MACHINE', { logEndOffset: 99 }));
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 2, epoch 6.2, ISR 2');
  });

  it('with flush=sync nothing was lost: whoever returns first leads, unless recovery cut below HW', () => {
    const script = elected(led(), { 1: 1, 2: 1 }, { flush: 'sync' });
    returned(script, 1, told('STOPPED_BY_MACHINE', { cutBelowHighWatermark: true }));
    returned(script, 2, machine);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe(
      'leader 2, epoch 5.1, ISR 2, eligible 3',
    );
  });
});

describe('what settles the past of a broker', () => {
  it('a seat of this very registration: what its process told counts no more', () => {
    const seatEpochs = new Map([[1, epochOf(1, 1)]]);
    const script = elected(led({ isr: [1], seatEpochs }), { 1: 1 });
    returned(script, 1, machine);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe('leader 1, epoch 4.0, ISR 1');
  });

  it('having been complete in this process, when its session ended and it registered anew', () => {
    const seatEpochs = new Map([[1, epochOf(1, 1)]]);
    const state = led({ isr: [1], eligibleLeaders: [3], seatEpochs });
    const again = (completeAgain: boolean): ControllerScript => {
      const script = elected(state, { 1: 2 });
      returned(script, 1, told('STOPPED_BY_MACHINE', { completeAgain }, epochOf(1)), 2);
      return script.acknowledgeWrites();
    };
    expect(again(true).stored('orders/0')).toBe('leader 1, epoch 5.1, ISR 1, eligible 3');
    expect(again(false).stored('orders/0')).toMatch(/^leader -1/);
  });

  it('not a crash of its process after that of the machine: it speaks of the life in between alone', () => {
    const script = elected(led({ isr: [1], eligibleLeaders: [3] }), { 1: 2 });
    returned(script, 1, told('STOPPED_BY_PROCESS', {}, epochOf(1, 1)), 2);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe(
      'leader -1, epoch 5.1, ISR 1, eligible 3',
    );
  });

  it('nothing, where it does not say how it stopped', () => {
    const script = elected(led({ isr: [1], eligibleLeaders: [3] }), { 1: 1 });
    returned(script, 1, told('STOP_KIND_UNSPECIFIED'));
    expect(script.acknowledgeWrites().stored('orders/0')).toMatch(/^leader -1/);
  });

  it('new disks have nothing: they are not taken for the longest log, even when all others are back', () => {
    const script = elected(led({ isr: [1], eligibleLeaders: [3] }), { 1: 1, 3: 1 });
    returned(script, 1, { previousStop: 'NEVER_RAN' });
    returned(script, 3, machine);
    expect(script.acknowledgeWrites().stored('orders/0')).toMatch(/^leader -1/);
  });
});

describe('a controller in office', () => {
  it('sees a broker bounce, and hears then that its machine went down', () => {
    const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]])]);
    script.streamDown(2).refused(2).streamDown(3).refused(3).acknowledgeWrites();
    expect(script.stored('orders/0')).toBe('leader 1, epoch 0.2, ISR 1, eligible 3');
    joins(script, 1, machine);
    expect(script.acknowledgeWrites().stored('orders/0')).toMatch(/^leader -1, epoch 1\.\d/);
    script.ready(3).acknowledgeWrites();
    expect(script.stored('orders/0')).toMatch(/^leader 3, epoch 2\.\d, ISR 3$/);
  });

  it('where a setting allows it, does not wait for those that are away; they may still lead while HW is frozen', () => {
    const configs = { 'unclean.leader.election.enable': 'true' };
    const script = elected(led({ isr: [1] }), { 2: 0, 3: 0 }, configs);
    returned(script, 2, told('STOPPED_CLEANLY', { logEndOffset: 40 }), 0);
    returned(script, 3, told('STOPPED_CLEANLY', { logEndOffset: 60 }), 0);
    expect(script.acknowledgeWrites().stored('orders/0')).toBe(
      'leader 3, epoch 5.1, ISR 3, eligible 1',
    );
  });
});
