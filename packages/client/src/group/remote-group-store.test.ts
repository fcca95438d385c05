import { seededRandom, silentLogger, sleep, type Deadline } from '@tributary/common';
import { groupHandlers } from '@tributary/broker';
import { createGroupStore, type GroupStore } from '@tributary/coordination';
import { standardCodecs } from '@tributary/record';
import type { Acceptor } from '@tributary/protocol';
import {
  describeGroupStoreContract,
  EmbeddedHarness,
  RunningClock,
  SimulatedNetwork,
  type GroupStoreHarness,
} from '@tributary/testkit';
import type { BrokerNode, ClientContext, ClusterMetadata } from '../seams';
import { RemoteGroupStore } from './remote-group-store';

const CLUSTER = 'cluster-of-the-test';

/** Two brokers on an embedded coordinator; each store is a client on a machine of its own. */
class RemoteGroupsHarness implements GroupStoreHarness {
  readonly embedded = new EmbeddedHarness();
  readonly clock = this.embedded.clock;
  readonly random = seededRandom(11);
  readonly network = new SimulatedNetwork({ clock: this.clock, random: this.random });
  readonly time = new RunningClock(this.clock);
  readonly brokers: BrokerNode[] = [];
  private readonly machines = new Map<GroupStore, { name: string; closing: AbortController }>();

  async startBroker(brokerId: number): Promise<void> {
    const coordinator = await this.embedded.connect();
    const acceptor = (): Acceptor => ({
      clusterId: CLUSTER,
      brokerId,
      brokerEpoch: 1,
      features: [],
      creditBytes: 0,
      maxInFlightRequests: 0,
      maxRequestBytes: 0,
    });
    const address = { host: `broker-${brokerId}`, port: 9_292 };
    const groupStore = createGroupStore(coordinator, this.clock, this.random);
    const { clock } = this;
    await this.network.transport(`broker-${brokerId}`).listen({
      ...address,
      listener: 'outside',
      handlers: groupHandlers({ groupStore, clock, logger: silentLogger, acceptor }),
    });
    this.brokers.push({ brokerId, brokerEpoch: 1, address });
  }

  async store(): Promise<GroupStore> {
    const name = `client-${this.machines.size}`;
    const closing = new AbortController();
    const context = this.context(name, closing.signal);
    const store = new RemoteGroupStore(context);
    this.machines.set(store, { name, closing });
    return store;
  }

  async kill(store: GroupStore): Promise<void> {
    const machine = this.machines.get(store);
    if (machine) this.network.crash(machine.name);
    await sleep(this.clock, 3_000);
  }

  machineOf(store: GroupStore): string {
    return this.machines.get(store)!.name;
  }

  until(condition: () => boolean): Promise<void> {
    return this.time.until(condition, 60_000);
  }

  async close(): Promise<void> {
    this.time.stop();
  }

  private context(name: string, closing: AbortSignal): ClientContext {
    const transport = this.network.transport(name);
    const { clock, random, brokers } = this;
    const turn = this.machines.size;
    const connections = new Map(
      brokers.map((broker) => [broker.brokerId, transport.connect(broker.address, 'client')]),
    );
    const metadata = {
      anyBroker: async (attempt: number, _deadline: Deadline): Promise<BrokerNode> =>
        brokers[(turn + attempt) % brokers.length]!,
    } as unknown as ClusterMetadata;
    return {
      clientId: name,
      clock,
      random,
      logger: silentLogger,
      codecs: standardCodecs,
      metadata,
      connections: {
        to: (broker) => connections.get(broker.brokerId)!,
        closeAll: () => undefined,
      },
      groups: () => new RemoteGroupStore(this.context(name, closing)),
      requestTimeoutMs: 10_000,
      closing,
    };
  }
}

async function makeHarness(): Promise<RemoteGroupsHarness> {
  const harness = new RemoteGroupsHarness();
  await harness.startBroker(1);
  await harness.startBroker(2);
  return harness;
}

describeGroupStoreContract('through brokers', makeHarness);

describe('a membership that a broker holds', () => {
  const member = { clientId: 'a', host: '', topics: ['orders'], assignors: ['range'] };
  const partition = { topic: 'orders', topicId: 'id-of-orders-00000001', partition: 0 };
  const leaseMs = 4_000;
  let harness: RemoteGroupsHarness;
  let store: GroupStore;

  beforeEach(async () => {
    harness = await makeHarness();
    store = await harness.store(); // at broker 1
  });
  afterEach(() => harness.close());

  test('outlives a broken stream: the same member goes on at the same broker', async () => {
    const membership = await store.join('g', member, { leaseMs });
    let lost = false;
    membership.onLost(() => (lost = true));
    const machine = harness.machineOf(store);
    harness.network.partition(machine, 'broker-1');
    const late = membership.assign(-1, [
      { memberId: membership.memberId, partitions: [partition] },
    ]);
    await sleep(harness.clock, leaseMs / 2);
    harness.network.heal();
    expect(await late).toBe(0);
    await sleep(harness.clock, leaseMs * 3);
    expect(lost).toBe(false);
    expect((await membership.read()).members).toMatchObject([{ memberId: membership.memberId }]);
  });

  test('is lost on the client before the broker lets others have its partitions', async () => {
    const membership = await store.join('g', member, { leaseMs });
    const other = await (await harness.store()).join('g', member, { leaseMs });
    await membership.assign(-1, [{ memberId: other.memberId, partitions: [partition] }]);
    await membership.claim(partition, 0);
    let lostAt = 0;
    membership.onLost(() => (lostAt = harness.clock.now()));
    harness.network.partition(harness.machineOf(store), 'broker-1');
    const taken = async (): Promise<boolean> => {
      const claim = other.claim(partition, 0);
      return claim.then(
        () => true,
        () => false,
      );
    };
    while (!(await taken())) await sleep(harness.clock, 50);
    const takenAt = harness.clock.now();
    expect(lostAt).toBeGreaterThan(0);
    expect(lostAt).toBeLessThanOrEqual(takenAt);
  });

  test('is lost at once when the broker is gone; joining again finds another broker', async () => {
    const membership = await store.join('g', member, { leaseMs });
    let lost = false;
    membership.onLost(() => (lost = true));
    const at = harness.clock.now();
    harness.network.crash('broker-1');
    await harness.until(() => lost);
    expect(harness.clock.now() - at).toBeLessThan(1_000);
    const again = await store.join('g', member, { leaseMs });
    expect(again.memberId).not.toBe(membership.memberId);
    await expect(membership.commit([])).rejects.toMatchObject({ code: 'UNKNOWN_MEMBER' });
  });

  test('is ended by the broker when its session is over: the client hears of it', async () => {
    const membership = await store.join('g', member, { leaseMs });
    let losses = 0;
    membership.onLost(() => (losses += 1));
    await harness.kill(await harness.store()); // lets time pass: nobody is lost
    expect(losses).toBe(0);
    const [first] = harness.embedded['clients'];
    await (await harness.embedded.connect()).endSession(first!.sessionTicket!);
    await harness.until(() => losses > 0);
    expect(losses).toBe(1);
  });
});
