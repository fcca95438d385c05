/** Leaders are spread again by themselves, once their brokers are steady. */
import { ControllerScript, registered, topicContext } from './controller-script.fixture';

const spread = [
  [1, 2, 3],
  [2, 3, 1],
  [3, 1, 2],
];

function leaders(script: ControllerScript): number[] {
  const partitions = script.state.topics.get('orders-id')?.partitions ?? [];
  return partitions.map(({ stored }) => stored?.leader ?? -1);
}

function tick(script: ControllerScript): ControllerScript {
  return script.event({ type: 'timer', timer: 'preferred-leaders' }).acknowledgeWrites();
}

/** Into all ISRs. */
function joins(script: ControllerScript, id: number): void {
  const partitions = script.state.topics.get('orders-id')?.partitions ?? [];
  partitions.forEach(({ stored }, partition) => {
    if (!stored || stored.isr.includes(id)) return;
    script.alter(stored.leader, `orders/${partition}`, [...stored.isr, id]).acknowledgeWrites();
  });
}

function failsAndReturns(script: ControllerScript, id: number): void {
  script.streamDown(id).refused(id).acknowledgeWrites().ready(id);
  joins(script, id);
}

function endProbation(script: ControllerScript, brokerId: number): void {
  const round = script.state.suspicions.get(brokerId)?.round ?? 0;
  script.event({ type: 'suspect-stable', brokerId, round });
}

function running(assignment: readonly (readonly number[])[] = spread): ControllerScript {
  return new ControllerScript().begin([1, 2, 3], [topicContext('orders', assignment)]);
}

describe('preferred leaders get their partitions back', () => {
  it('after a restart of all others, when they have been ready for a whole interval', () => {
    const script = running();
    for (const id of [2, 3]) failsAndReturns(script, id);
    for (const id of [2, 3]) endProbation(script, id);
    expect(leaders(script)).toEqual([1, 1, 1]);
    expect(leaders(tick(script))).toEqual([1, 1, 1]);
    expect(leaders(tick(script))).toEqual([1, 2, 3]);
  });

  it('not while they are on probation', () => {
    const script = running();
    failsAndReturns(script, 2);
    for (const _ of [1, 2, 3, 4]) tick(script);
    expect(leaders(script)[1]).toBe(3);
    endProbation(script, 2);
    expect(leaders(tick(script))[1]).toBe(2);
  });

  it('at once after that for a broker that said that it would stop', () => {
    const script = running();
    const brokerEpoch = registered(2).brokerEpoch;
    script.event({ type: 'controlled-shutdown', brokerId: 2, brokerEpoch, requestId: 1 });
    script.acknowledgeWrites();
    script.event({ type: 'brokers-changed', brokers: [registered(1), registered(3)] });
    const brokers = [registered(1), registered(2, 1), registered(3)];
    script.event({ type: 'brokers-changed', brokers }).ready(2, 1).acknowledgeWrites();
    const { stored } = script.partition('orders/1');
    const memberEpochs = { 2: registered(2, 1).brokerEpoch };
    script.alter(stored?.leader ?? 0, 'orders/1', [1, 3, 2], { memberEpochs }).acknowledgeWrites();
    tick(script);
    expect(leaders(tick(script))[1]).toBe(2);
  });

  it('KAFKA-9866: not one that is not in sync', () => {
    const script = running();
    script.streamDown(2).refused(2).acknowledgeWrites().ready(2);
    for (const _ of [1, 2, 3, 4]) tick(script);
    expect(leaders(script)).toEqual([1, 3, 3]);
  });

  it('not one that is drained', () => {
    const script = running();
    failsAndReturns(script, 2);
    endProbation(script, 2);
    const settings = { brokerId: 2, configs: {}, duty: 'drained', version: 0 } as const;
    script.event({ type: 'settings-read', settings: [settings] });
    for (const _ of [1, 2, 3, 4]) tick(script);
    expect(leaders(script)).toEqual([1, 3, 3]);
  });

  it('not while the replicas are being moved: the end of the move decides', () => {
    const script = new ControllerScript().begin(
      [1, 2, 3, 4],
      [topicContext('orders', [[1, 2, 3]])],
    );
    script.reassign({ 'orders/0': [2, 1, 4] }).acknowledgeAll();
    for (const _ of [1, 2, 3, 4]) tick(script);
    expect(leaders(script)).toEqual([1]);
    script.alter(1, 'orders/0', [1, 2, 3, 4]).acknowledgeAll();
    script.deleted('orders/0', 3).acknowledgeAll();
    for (const _ of [1, 2, 3, 4]) tick(script);
    expect(leaders(script)).toEqual([2]);
  });

  it('a bounded lot at once, the next one after a pause', () => {
    const script = running(Array.from({ length: 150 }, () => [2, 1, 3]));
    failsAndReturns(script, 2);
    endProbation(script, 2);
    for (const _ of [1, 2]) tick(script);
    expect(leaders(script).filter((leader) => leader === 2)).toHaveLength(100);
    script.event({ type: 'timer', timer: 'preferred-lot' }).acknowledgeWrites();
    expect(leaders(script).filter((leader) => leader === 2)).toHaveLength(150);
  });
});

test('a leader dies: a member that is drained is passed over where another is in sync', () => {
  const script = running([[1, 2, 3]]);
  const settings = { brokerId: 2, configs: {}, duty: 'drained', version: 0 } as const;
  script.event({ type: 'settings-read', settings: [settings] });
  script.streamDown(1).refused(1).acknowledgeWrites();
  expect(script.stored('orders/0')).toBe('leader 3, epoch 1.1, ISR 2,3');
});

test('a leader that is drained hands over to a member that is not', () => {
  const script = running();
  const settings = { brokerId: 1, configs: {}, duty: 'drained', version: 0 } as const;
  script.event({ type: 'settings-read', settings: [settings] }).acknowledgeWrites();
  expect(leaders(script)).toEqual([2, 2, 3]);
  expect(script.stored('orders/0')).toBe('leader 2, epoch 1.1, ISR 1,2,3');
  script.streamDown(2).refused(2).streamDown(3).refused(3).acknowledgeWrites();
  expect(leaders(script)).toEqual([1, 1, 1]);
});
