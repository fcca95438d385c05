/** The last replica that counts is damaged: a person accepts that records are lost, and the partition goes on. */
import { methods, type AcceptLossRequestInput, type AcceptLossResponse } from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from './data-cluster.fixture';
import { dataWorld, type World } from './data-world.fixture';

const values = Array.from({ length: 10 }, (_, i) => `${i}`);

async function world(brokers: readonly number[]): Promise<World> {
  const w = await dataWorld(brokers);
  w.cluster.actsOnOutages = true;
  await w.cluster.createTopic([brokers]);
  for (const value of values) await w.within(w.cluster.produce(brokers[0]!, [value]));
  return w;
}

function damage(w: World, id: number, ...offsets: number[]): void {
  for (const offset of offsets) w.log(id).damage(offset);
  expect(() => w.log(id).read(0, 1e6, 10)).toThrow('fails its CRC');
  w.cluster.partition(id).noticeFailure(w.log(id).failure);
}

function accept(
  w: World,
  id: number,
  changes: AcceptLossRequestInput = {},
): Promise<AcceptLossResponse> {
  const request = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, brokerId: id, timeoutMs: 5_000 };
  const { acceptLoss } = methods.admin;
  const call = w.cluster.connection(id).call(acceptLoss, { ...request, ...changes }, { timeoutMs: 9_000 }); // prettier-ignore
  return w.within(call);
}

describe('replication factor 1', () => {
  it('what is damaged becomes a gap, all the rest is kept, and it goes on behind its old end', async () => {
    const w = await world([1]);
    damage(w, 1, 3, 4, 9);
    expect((await w.within(w.cluster.produce(1, ['x']))).error?.code).toBe('STORAGE_ERROR');
    const answer = await accept(w, 1);
    expect(answer.lost).toMatchObject([
      { fromOffset: 3, toOffset: 4 },
      { fromOffset: 4, toOffset: 5 },
      { fromOffset: 9, toOffset: 10 },
    ]);
    expect(answer).toMatchObject({ logStartOffset: 0, logEndOffset: 10 });
    expect(w.values(1)).toEqual(values.filter((value) => !['3', '4', '9'].includes(value)));
    expect((await w.within(w.cluster.produce(1, ['after']))).baseOffset).toBe(10);
    expect(w.log(1).lastBatchEpoch).toBe(3); // led 0, offline 1, accepted 2
    await w.close();
  });

  it('by name alone, as from a command line', async () => {
    const w = await world([1]);
    damage(w, 1, 0);
    expect((await accept(w, 1, { topicId: '' })).topicId).toBe(TOPIC_ID);
    await w.close();
  });

  it('is refused while nothing is damaged, by another broker, and for another topic', async () => {
    const w = await world([1]);
    await expect(accept(w, 1)).rejects.toMatchObject({ code: 'INELIGIBLE_REPLICA' });
    await expect(accept(w, 1, { brokerId: 2 })).rejects.toMatchObject({ code: 'BROKER_MISMATCH' });
    await expect(accept(w, 1, { topicId: 'x' })).rejects.toMatchObject({ code: 'TOPIC_ID_MISMATCH' }); // prettier-ignore
    await expect(accept(w, 1, { partition: 9 })).rejects.toMatchObject({ code: 'UNKNOWN_PARTITION' }); // prettier-ignore
    await w.close();
  });

  it('is refused after an I/O error: the data may well be sound', async () => {
    const w = await world([1]);
    w.log(1).failNextAppend = 'STORAGE_ERROR';
    await w.within(w.cluster.produce(1, ['x']));
    const refused = accept(w, 1);
    await expect(refused).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await refused.catch((error: { hint: string }) => expect(error.hint).toContain('restart'));
    await w.close();
  });

  it('the controller is away: nothing is repaired, and the command can be repeated', async () => {
    const w = await world([1]);
    damage(w, 1, 5);
    w.cluster.controllerDown = true;
    await expect(accept(w, 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(w.log(1).failure).toBeDefined();
    w.cluster.controllerDown = false;
    expect((await accept(w, 1)).lost).toHaveLength(1);
    await w.close();
  });
});

describe('several replicas, none of which can lead', () => {
  it('others in the ISR may come back with all: only with force', async () => {
    const w = await world([1, 2]);
    w.cluster.crash(2);
    damage(w, 1, 5);
    await w.cluster.change([{ ...w.cluster.state(), leader: -1, isr: [1, 2] }]);
    const refused = accept(w, 1);
    await expect(refused).rejects.toMatchObject({ code: 'INELIGIBLE_REPLICA' });
    await refused.catch((error: { hint: string }) =>
      expect(error.hint).toBe(
        'Start broker 2. If that is not possible, repeat the command with --force.',
      ),
    );
    expect((await accept(w, 1, { force: true })).lost).toMatchObject([
      { fromOffset: 5, toOffset: 6 },
    ]);
    expect(w.cluster.state()).toMatchObject({ leader: 1, isr: [1] });
    await w.close();
  });

  it('one that comes back with what was lost is cut there, and becomes the same bytes (R1)', async () => {
    const w = await world([1, 2]);
    w.cluster.crash(2);
    await w.cluster.elect(1, { isr: [1] });
    damage(w, 1, 5);
    await accept(w, 1);
    await w.cluster.startBroker(2);
    await w.until(() => w.isr().length === 2, 20_000);
    expect(w.values(2)).toEqual(values.filter((value) => value !== '5'));
    expect(w.log(2).content.equals(w.log(1).content)).toBe(true);
    // What is left of the history after the loss is told from the one before it.
    expect(w.log(1).epochEnd(0)).toEqual({ epoch: 0, endOffset: 5 });
    await w.close();
  });

  it('nothing behind the loss: one that has more is cut, too', async () => {
    const w = await world([1, 2]);
    w.cluster.crash(2);
    await w.cluster.elect(1, { isr: [1] });
    damage(w, 1, 9);
    await accept(w, 1);
    await w.cluster.startBroker(2);
    await w.until(() => w.isr().length === 2, 20_000);
    expect(w.values(2)).toEqual(values.slice(0, 9));
    expect(w.log(2).content.equals(w.log(1).content)).toBe(true);
    await w.close();
  });

  it('is refused while it is refilled', async () => {
    const w = await world([1, 2]);
    w.network.partition('b1', 'b2');
    damage(w, 2, 5);
    await w.clock.advance(500);
    await expect(accept(w, 2)).rejects.toThrow('is being refilled from broker 1');
    await w.close();
  });
});
