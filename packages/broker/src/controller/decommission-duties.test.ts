/** A broker that shall go for good, from the wish to the last replica. */
import type { AlterBrokerRequest } from '@tributary/protocol';
import { ControllerScript, registered, settings, topicContext } from './controller-script.fixture';

type Duty = AlterBrokerRequest['duty'];

function altered(script: ControllerScript, brokerId: number, duty: Duty): ControllerScript {
  return script.ask(2, { alterBroker: { brokerId, duty } }).acknowledgeAll();
}

function decommission(script: ControllerScript, brokerId: number): ControllerScript {
  return altered(script, brokerId, 'BROKER_DUTY_DECOMMISSIONED');
}

/** Brokers 1 to 4; the replicas of `orders` as given. */
function running(...assignment: (readonly number[])[]): ControllerScript {
  return new ControllerScript().begin([1, 2, 3, 4], [topicContext('orders', assignment)]);
}

/** All replicas that are added come in sync, the old ones are deleted. */
function finish(script: ControllerScript, where: string): void {
  const { stored, replicas, removing } = script.partition(where);
  script.alter(stored?.leader ?? -1, where, replicas).acknowledgeAll();
  script.deleted(where, ...removing).acknowledgeAll();
}

describe('a broker that is decommissioned', () => {
  it('leads nothing more, and its replicas are moved to a broker that has none of the partition', () => {
    const script = running([1, 2, 3]);
    decommission(script, 1);
    expect(script.stored('orders/0')).toMatch('leader 2');
    expect(script.assignment('orders/0')).toBe('4,2,3,1 (adding 4, removing 1)');
    finish(script, 'orders/0');
    expect(script.assignment('orders/0')).toBe('4,2,3');
  });

  it('that is gone already is emptied as well', () => {
    const script = running([1, 2, 3]);
    script.event({ type: 'brokers-changed', brokers: [2, 3, 4].map((id) => registered(id)) });
    script.acknowledgeAll();
    decommission(script, 1);
    expect(script.assignment('orders/0')).toBe('4,2,3,1 (adding 4, removing 1)');
    script.alter(2, 'orders/0', [2, 3, 4]).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('4,2,3');
  });

  it('gives its replicas to several brokers, evenly', () => {
    const script = running([1, 2], [1, 3], [1, 4], [1, 2], [1, 3], [1, 4]);
    decommission(script, 1);
    for (let round = 0; round < 6; round += 1) {
      for (let partition = 0; partition < 6; partition += 1) finish(script, `orders/${partition}`);
    }
    const replicas = Array.from({ length: 6 }, (_, n) => script.partition(`orders/${n}`).replicas);
    const counts = [1, 2, 3, 4].map((id) => replicas.flat().filter((each) => each === id).length);
    expect(counts).toEqual([0, 4, 4, 4]);
  });

  it(`at most ${settings.maxMovesAtOnce} of them at a time`, () => {
    const partitions = settings.maxMovesAtOnce + 2;
    const script = running(...Array.from({ length: partitions }, () => [1, 2]));
    decommission(script, 1);
    const moving = (): number =>
      [...(script.state.topics.get('orders-id')?.record.reassignments?.keys() ?? [])].length;
    expect(moving()).toBe(settings.maxMovesAtOnce);
    finish(script, 'orders/0');
    expect(script.assignment('orders/0')).not.toContain('1');
    expect(moving()).toBe(settings.maxMovesAtOnce);
  });

  it('a substitute that goes away is replaced by another', () => {
    const script = new ControllerScript().begin([1, 2, 3, 4], [topicContext('orders', [[1, 2]])]);
    decommission(script, 1);
    const substitute = script.partition('orders/0').adding[0] ?? -1;
    const left = [1, 2, 3, 4].filter((id) => id !== substitute);
    script.event({ type: 'brokers-changed', brokers: left.map((id) => registered(id)) });
    script.acknowledgeAll();
    const other = substitute === 3 ? 4 : 3;
    expect(script.partition('orders/0').replicas[0]).toBe(other);
    expect(new Set(script.partition('orders/0').removing)).toEqual(new Set([1, substitute]));
  });

  it('keeps its replica where no broker is left for it, until there is one', () => {
    const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]])]);
    decommission(script, 1);
    expect(script.assignment('orders/0')).toBe('1,2,3');
    const brokers = [1, 2, 3, 4].map((id) => registered(id));
    script.event({ type: 'brokers-changed', brokers }).ready(4).acknowledgeAll();
    expect(script.assignment('orders/0')).toBe('4,2,3,1 (adding 4, removing 1)');
  });

  it('in service again: what is not done of its moves is undone', () => {
    const script = running([1, 2, 3]);
    decommission(script, 1);
    altered(script, 1, 'BROKER_DUTY_IN_SERVICE');
    script.deleted('orders/0', 4).acknowledgeAll();
    // As in Kafka, the topic's node does not say in which order they were.
    expect(script.assignment('orders/0')).toBe('2,3,1');
    expect(script.state.returning.size).toBe(0);
  });

  it('the next controller goes on', () => {
    const assignment = [[1, 2, 3]];
    const next = new ControllerScript().event({
      type: 'elected',
      context: {
        brokers: [1, 2, 3, 4].map((id) => registered(id)),
        topics: [topicContext('orders', assignment)],
        deletions: [],
        brokerSettings: [{ brokerId: 1, configs: {}, duty: 'decommissioned', version: 0 }],
      },
    });
    for (const id of [1, 2, 3, 4]) next.ready(id);
    next.acknowledgeAll();
    expect(next.assignment('orders/0')).toBe('4,2,3,1 (adding 4, removing 1)');
  });

  it('a drained broker gets a replica, and does not come first', () => {
    const script = running([1, 2, 3]);
    altered(script, 4, 'BROKER_DUTY_DRAINED');
    decommission(script, 1);
    expect(script.assignment('orders/0')).toBe('2,4,3,1 (adding 4, removing 1)');
  });

  it('a topic that is being deleted is left alone', () => {
    const script = running([1, 2, 3]);
    const markers = [{ topic: 'orders', topicId: 'orders-id' }];
    script.event({ type: 'deletions-changed', markers });
    decommission(script, 1);
    expect(script.assignment('orders/0')).toBe('1,2,3');
  });
});
