/**
 * Brokers with two disks, of which one fails under load, and comes back after a restart: repaired, with its data, or
 * replaced by an empty one. One seed is one run: `SIMULATION_SEEDS=17 npx jest test/simulation/log-directories`.
 */
import { sleep } from '@tributary/common';
import {
  checkHistory,
  compareReplicas,
  History,
  isClean,
  NumberedWriter,
  numberOf,
  SimulatedCluster,
  type DiskOperation,
} from '@tributary/testkit';

const wanted = process.env['SIMULATION_SEEDS'];
const seeds = wanted ? wanted.split(',').map(Number) : [1, 2, 3];
const TOPIC = 'orders';
const PARTITIONS = 4;
const disks = ['/disk-1', '/disk-2'];
const operations: DiskOperation[] = [
  ...(['open', 'append', 'datasync', 'rename', 'syncDirectory', 'makeDirectory'] as const),
  ...(['read', 'truncate', 'remove', 'lock'] as const),
];

class Scenario {
  readonly cluster: SimulatedCluster;
  readonly history = new History();
  readonly problems = new Set<string>();
  private readonly victim: number;
  readonly isReplaced: boolean;
  private over = false;

  constructor(seed: number) {
    this.cluster = new SimulatedCluster({ seed, logDirectories: disks });
    this.victim = (seed % 3) + 1;
    this.isReplaced = seed % 2 === 1;
  }

  get refilled(): number {
    const complete = 'a damaged replica is complete again';
    return this.cluster.logged.filter(({ text }) => text.includes(complete)).length;
  }

  async play(): Promise<void> {
    const { cluster, history, victim } = this;
    const { clock, random } = cluster;
    await cluster.start();
    const admin = cluster.client('writer').admin();
    const configs = { 'min.insync.replicas': '2' };
    await admin.createTopic({
      topic: TOPIC,
      partitions: PARTITIONS,
      replicationFactor: 3,
      configs,
    });
    const writer = new NumberedWriter(cluster.client('load'), clock, random, history, {
      topic: TOPIC,
      partitions: PARTITIONS,
    });
    writer.start();
    const watched = this.watchLeaders();
    await sleep(clock, 1_000);
    this.failDisk();
    await sleep(clock, 3_000);
    this.judgeHalf();
    cluster.crash(victim, { loseUnsynced: random.next() < 0.5 });
    if (this.isReplaced) this.replaceDisk();
    await cluster.restart(victim);
    await cluster.until(() => this.isWhole(), 60_000);
    await writer.stop();
    await sleep(clock, 2_000);
    for (const problem of compareReplicas(cluster, PARTITIONS)) this.problems.add(problem);
    await this.readAll();
    this.over = true;
    await watched;
    await cluster.stop();
  }

  private failDisk(): void {
    const { cluster, victim } = this;
    cluster.note(`a disk of broker ${victim} fails`);
    for (const operation of operations) {
      cluster.broker(victim).disk.failNext(operation, { path: '/disk-2', times: Infinity });
    }
  }

  /** Half of its replicas are offline, the others go on; it is ready and says what is wrong. */
  private judgeHalf(): void {
    const { status, logs, ready } = this.cluster.broker(this.victim);
    const offline = status?.partitions.filter(({ role }) => role === 'offline') ?? [];
    const failed = logs?.directories().filter(({ failure }) => failure !== undefined) ?? [];
    if (offline.length !== PARTITIONS / 2) this.problems.add(`${offline.length} are offline`);
    if (failed.map(({ path }) => path).join() !== '/disk-2') this.problems.add('not told');
    if (!ready) this.problems.add('a broker with one good disk is not ready');
  }

  private replaceDisk(): void {
    const { disk } = this.cluster.broker(this.victim);
    disk.makeDirectory('/scrap');
    disk.rename('/disk-2', '/scrap/disk-2');
  }

  private isWhole(): boolean {
    const { status } = this.cluster.broker(this.victim);
    const served = status?.partitions.filter(({ role, outage }) => role !== 'offline' && !outage);
    const leaders = this.cluster.brokerIds.flatMap(
      (id) =>
        this.cluster.broker(id).status?.partitions.filter(({ role }) => role === 'leader') ?? [],
    );
    return (
      served?.length === PARTITIONS &&
      leaders.length === PARTITIONS &&
      leaders.every((leader) => 'isr' in leader && (leader.isr as number[]).length === 3)
    );
  }

  /** A replica that is not whole does not lead, and no leader ends before what was acknowledged. */
  private async watchLeaders(): Promise<void> {
    while (!this.over) {
      for (const { partition, role, outage } of this.cluster.broker(this.victim).status
        ?.partitions ?? []) {
        if (role === 'leader' && outage) this.problems.add(`leads ${partition} while ${outage}`);
      }
      await sleep(this.cluster.clock, 5);
    }
  }

  private async readAll(): Promise<void> {
    const client = this.cluster.client('judge');
    const { partitions } = await client.admin().describeTopic(TOPIC);
    for (const { partition, endOffset } of partitions) {
      const end = Number(endOffset ?? 0n);
      if (end === 0) continue;
      const reader = client.consumer({ assign: [{ topic: TOPIC, partition, offset: 0 }] });
      for await (const { offset, value } of reader) {
        this.history.finalReads.push({ partition, offset: Number(offset), id: numberOf(value) });
        if (Number(offset) + 1 >= end) break;
      }
      await reader.close();
    }
  }
}

test.each(seeds)('seed %i: one of two disks of a broker fails and comes back', async (seed) => {
  const scenario = new Scenario(seed);
  const { cluster } = scenario;
  try {
    await cluster.run(() => scenario.play(), 10 * 60_000);
    const verdict = checkHistory(scenario.history);
    if (!isClean(verdict)) throw new Error(JSON.stringify(verdict, undefined, 2));
    expect([...scenario.problems]).toEqual([]);
    expect(verdict.acked).toBeGreaterThan(100);
    expect(scenario.refilled).toBe(scenario.isReplaced ? PARTITIONS / 2 : 0);
  } catch (thrown) {
    const tail = cluster.logged
      .slice(-80)
      .map(({ atMs, level, text }) => `${atMs.toFixed(1)} ${level} ${text}`);
    const why = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    throw new Error(`seed ${seed}: ${why}\n${tail.join('\n')}`, { cause: thrown });
  }
});
