import { ControllerScript, topicContext } from './controller-script.fixture';
import { maxEntriesPerReason, summarize } from './journal-summary';

function notes(count: number, topic = 'orders', why = 'leader 2 shuts down') {
  return Array.from({ length: count }, (_, partition) => {
    const leader = partition % 2 === 0 ? 1 : 3;
    return { topic, partition, leader, what: `leader ${leader}`, why };
  });
}

describe('the journal of one step', () => {
  it('a few partitions: an entry for each', () => {
    const few = summarize(notes(maxEntriesPerReason));
    expect(few).toHaveLength(maxEntriesPerReason);
    expect(few[1]).toEqual({ who: 'orders-1', what: 'leader 3', why: 'leader 2 shuts down' });
  });

  it('many for one reason: one entry, that says who leads how many', () => {
    const other = notes(1, 'payments', 'leader 3 asked');
    expect(summarize([...notes(20), ...notes(11, 'shipments'), ...other])).toEqual([
      {
        who: '31 partitions of 2 topics',
        what: 'led: 16 by 1, 15 by 3',
        why: 'leader 2 shuts down',
      },
      { who: 'payments-0', what: 'leader 1', why: 'leader 3 asked' },
    ]);
  });

  it('nobody leads', () => {
    const none = notes(11).map((note) => ({ ...note, leader: -1 }));
    expect(summarize(none)[0]?.what).toBe('led: 11 by nobody');
  });
});

describe('controlled shutdown', () => {
  it('of a broker that leads many: its leaderships go in one write, and the journal has a line', () => {
    const partitions = Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? [1, 2, 3] : [2, 3, 1]));
    const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', partitions)]);
    script.journal.length = 0;
    const request = { brokerId: 2, brokerEpoch: 102, requestId: 9 };
    script.event({ type: 'controlled-shutdown', ...request });
    expect(script.take().filter((line) => line.startsWith('write'))).toHaveLength(200);
    script.acknowledgeWrites();
    expect(script.take().at(-1)).toBe('answer 2: leads 0');
    expect(script.journal).toEqual([
      'broker 2: leaving (it asked for controlled shutdown)',
      '100 partitions of orders: led: 100 by 1 (replica gone)',
      '100 partitions of orders: led: 100 by 3 (leader 2 shuts down)',
    ]);
    expect(script.stored('orders/0')).toMatch(/^leader 1, epoch 0\.1, ISR 1,3/);
    expect(script.stored('orders/1')).toMatch(/^leader 3, epoch 1\.1, ISR 3,1/);
  });

  it('KAFKA-14140: a broker that shuts down or is dead is taken into no ISR', () => {
    const script = new ControllerScript().begin([1, 2, 3], [topicContext('orders', [[1, 2, 3]])]);
    const request = { brokerId: 2, brokerEpoch: 102, requestId: 9 };
    script
      .event({ type: 'controlled-shutdown', ...request })
      .acknowledgeWrites()
      .take();
    expect(script.alter(1, 'orders/0', [1, 2, 3]).take()).toEqual([
      'answer 1 #1: INELIGIBLE_REPLICA',
    ]);
    script.streamDown(3).refused(3).acknowledgeWrites().take();
    expect(script.alter(1, 'orders/0', [1, 3]).take()).toEqual(['answer 1 #1: INELIGIBLE_REPLICA']);
  });
});
