import { Deadline, seededRandom, sleep, TributaryError } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import type { Connection } from '@tributary/protocol';
import type { BrokerConnections, BrokerNode } from '../seams';
import { BrokerSource } from './broker-source';

const brokers = [1, 2, 3].map((brokerId) => ({
  brokerId,
  brokerEpoch: 1,
  host: `b${brokerId}`,
  port: 9_292,
}));

/** Three brokers that answer Metadata at once, but for those that stand still. */
class FakeBrokers implements BrokerConnections {
  readonly asked: string[] = [];
  readonly frozen = new Set<string>();
  readonly unknown = new Set<string>();

  constructor(private readonly clock: SimulatedClock) {}

  to({ address: { host } }: BrokerNode): Connection {
    const call = async (
      _method: unknown,
      _request: unknown,
      { timeoutMs }: { timeoutMs: number },
    ) => {
      this.asked.push(host);
      if (this.unknown.has(host)) {
        throw new TributaryError('UNRESOLVABLE_ADDRESS', `Name resolution failed for ${host}`);
      }
      if (this.frozen.has(host)) {
        await sleep(this.clock, timeoutMs);
        throw new TributaryError('TIMEOUT', `${host} did not answer`);
      }
      return { clusterId: 'c', controllerId: 2, brokers, topics: [] };
    };
    return { call } as unknown as Connection;
  }

  closeAll(): void {
    // nothing is open
  }
}

function setup(seed = 1): {
  clock: SimulatedClock;
  fakes: FakeBrokers;
  source: BrokerSource;
  within: (ms: number) => Deadline;
} {
  const clock = new SimulatedClock();
  const fakes = new FakeBrokers(clock);
  const bootstrap = brokers.map(({ host, port }) => ({ host, port }));
  const options = { bootstrap, listener: undefined };
  const source = new BrokerSource(clock, seededRandom(seed), fakes, options);
  return { clock, fakes, source, within: (ms) => Deadline.after(clock, ms) };
}

test('a read that has time passes over a broker that stands still, and the next begins behind it', async () => {
  const { clock, fakes, source, within } = setup();
  fakes.frozen.add('b1');
  await clock.settleWithin(source.read([], within(10_000)), 3_500);
  await clock.settleWithin(source.read([], within(10_000)), 10);
  expect(fakes.asked).toEqual(['b1', 'b2', 'b2']);
});

test('a read without time for a second broker fails, and the next one does not ask the same again', async () => {
  const { clock, fakes, source, within } = setup();
  fakes.frozen.add('b1');
  await expect(clock.settleWithin(source.read([], within(1_000)), 1_100)).rejects.toMatchObject({
    code: 'TIMEOUT',
  });
  await clock.settleWithin(source.read([], within(1_000)), 10);
  expect(fakes.asked).toEqual(['b1', 'b2']);
});

test('a given address that has no such name: it is what was given that is to be corrected', async () => {
  const { clock, fakes, source, within } = setup();
  for (const host of ['b1', 'b2', 'b3']) fakes.unknown.add(host);
  const error: unknown = await clock.settleWithin(source.read([], within(10_000)), 10_000).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'UNRESOLVABLE_ADDRESS', outcome: 'not written' });
  expect(String(error)).toMatch(/no broker answers at b1:9292, b2:9292, b3:9292: Name resolution failed for b\d/);
  expect((error as TributaryError).hint).toContain('addresses that were given');
}); // prettier-ignore

test('a broker whose answer is in doubt is not the one asked next, however many doubt it', async () => {
  const { clock, fakes, source, within } = setup();
  await clock.settleWithin(source.read([], within(1_000)), 10);
  await clock.settleWithin(source.read([], within(1_000)), 10);
  for (let i = 0; i < 3; i += 1) source.doubt();
  await clock.settleWithin(source.read([], within(1_000)), 10);
  expect(fakes.asked).toEqual(['b1', 'b1', 'b2']);
});

test('calls to any broker go round, also when each is the first attempt', async () => {
  const { source, within } = setup();
  const chosen = new Set<number>();
  for (let i = 0; i < 3; i += 1) chosen.add((await source.anyBroker(0, within(1_000))).brokerId);
  expect([...chosen].sort()).toEqual([1, 2, 3]);
});

test('clients do not all begin with the same broker', async () => {
  const chosen = new Set<number>();
  for (let seed = 0; seed < 30; seed += 1) {
    const { source, within } = setup(seed);
    chosen.add((await source.anyBroker(0, within(1_000))).brokerId);
  }
  expect(chosen.size).toBe(3);
});
