/**
 * One run of a whole simulated cluster under load with a crash in the middle, from a seed: what is crashed, when and
 * how is drawn from it. Called by cluster.test.ts.
 */
import type { Client } from '@tributary/client';
import { randomInteger, sleep, type FlushMode } from '@tributary/common';
import {
  checkHistory,
  compareReplicas,
  GroupReader,
  History,
  NumberedWriter,
  numberOf,
  readReplicas,
  SimulatedCluster,
  type SimulatedClusterOptions,
  type Verdict,
} from '@tributary/testkit';

export type Victim = 'leader' | 'controller' | 'all';

export interface ScenarioOptions extends SimulatedClusterOptions {
  /** Of the topic; with `sync` also all machines at once may lose their power. Default `os`. */
  readonly flush?: FlushMode;
}

export interface Outcome {
  readonly seed: number;
  readonly verdict: Verdict;
  /** What is wrong beside the verdict, as sentences. */
  readonly problems: readonly string[];
  readonly elections: number;
  /** Hash of everything that happened, the bytes of the logs at the end included. */
  readonly trace: string;
  readonly events: number;
  readonly simulatedMs: number;
}

const TOPIC = 'orders';
const PARTITIONS = 3;
const WRITER = 'writer';
const READERS = ['reader-1', 'reader-2'];
const CLIENTS = [WRITER, ...READERS];
/** Far more than any run takes; a run that reaches it hangs. */
const RUN_MS = 10 * 60_000;
const RECOVERY_MS = 60_000;

export class Scenario {
  readonly cluster: SimulatedCluster;
  private readonly history = new History();
  private readonly problems: string[] = [];

  constructor(
    private readonly victim: Victim,
    private readonly options: ScenarioOptions,
  ) {
    this.cluster = new SimulatedCluster(options);
  }

  run(): Promise<Outcome> {
    return this.cluster.run(() => this.play(), RUN_MS);
  }

  private async play(): Promise<Outcome> {
    const { cluster, history } = this;
    cluster.network.setDelay({ minMs: 0.1, maxMs: 1 + cluster.random.next() * 10 });
    await cluster.start();
    const client = cluster.client(WRITER);
    await this.createTopic(client);
    const { clock, random } = cluster;
    const load = { topic: TOPIC, partitions: PARTITIONS };
    const writer = new NumberedWriter(client, clock, random, history, load);
    const readers = new GroupReader(history, { topic: TOPIC, group: 'billing' });
    writer.start();
    for (const reader of READERS) readers.join(cluster.client(reader), reader);
    await this.pause(500, 2_500);
    await this.crashAndRestart();
    await this.pause(200, 1_500);
    await this.disturbNetwork();
    cluster.heal();
    await this.pause(200, 500);
    await writer.stop();
    await this.untilInSync(client);
    await this.readBack(cluster.client('judge'), readers);
    await readers.stop();
    const elections = await this.judgeReplicas(client);
    await cluster.stop();
    return this.outcome(readers, elections);
  }

  private async createTopic(client: Client): Promise<void> {
    const { flush = 'os' } = this.options;
    const configs = { 'min.insync.replicas': '2', 'segment.bytes': '65536', flush };
    const topic = { topic: TOPIC, partitions: PARTITIONS, replicationFactor: 3, configs };
    await client.admin().createTopic(topic);
  }

  private async crashAndRestart(): Promise<void> {
    const { cluster } = this;
    const victims = await this.victims();
    const loseUnsynced = this.losesPower();
    for (const id of victims) cluster.crash(id, { loseUnsynced });
    // Some are back before anybody has decided anything.
    if (cluster.random.next() < 0.25) await this.pause(1, 300);
    else await this.pause(300, 4_000);
    await Promise.all(victims.map((id) => cluster.restart(id)));
  }

  /** Where all die at once, only what lies on their disks can be kept. */
  private losesPower(): boolean {
    const { flush = 'os' } = this.options;
    if (this.victim === 'all') return flush === 'sync';
    return this.cluster.random.next() < 0.3;
  }

  private async victims(): Promise<number[]> {
    const { cluster } = this;
    if (this.victim === 'all') return cluster.brokerIds;
    if (this.victim === 'controller') return [cluster.controllerId!];
    const partition = randomInteger(cluster.random, PARTITIONS);
    // On slow disks it may not have begun yet.
    await cluster.until(() => cluster.leadersOf(partition).length > 0, RECOVERY_MS);
    return [cluster.leadersOf(partition)[0]!];
  }

  /** Two machines do not hear each other for a while, in half of the runs: two brokers, or a client and a broker. */
  private async disturbNetwork(): Promise<void> {
    const { cluster } = this;
    if (cluster.random.next() < 0.5) return;
    const brokers = shuffled(cluster.brokerIds, cluster).map((id) => `broker-${id}`);
    const client = CLIENTS[randomInteger(cluster.random, CLIENTS.length)];
    const [a, b] = cluster.random.next() < 0.3 ? [client, brokers[0]] : brokers;
    const oneWay = cluster.random.next() < 0.3;
    cluster.partition(a!, b!, { oneWay });
    await this.pause(200, 7_000);
  }

  private async untilInSync(client: Client): Promise<void> {
    const end = this.cluster.clock.now() + RECOVERY_MS;
    for (;;) {
      const { partitions } = await client.admin().describeTopic(TOPIC, { offsets: false });
      const short = partitions.filter(({ isr, leader }) => !leader || isr.length < 3);
      if (short.length === 0) return;
      if (this.cluster.clock.now() >= end) {
        this.problems.push(`not in full ISR after ${RECOVERY_MS} ms: ${JSON.stringify(short)}`);
        return;
      }
      await sleep(this.cluster.clock, 100);
    }
  }

  /** Everything, from the start to the end of now; then waits until the group has it all, too. */
  private async readBack(client: Client, readers: GroupReader): Promise<void> {
    const { cluster, history } = this;
    const { partitions } = await client.admin().describeTopic(TOPIC);
    const ends = new Map<number, number>();
    for (const { partition, endOffset } of partitions) {
      const end = Number(endOffset ?? 0n);
      ends.set(partition, end);
      if (end === 0) continue;
      const reader = client.consumer({ assign: [{ topic: TOPIC, partition, offset: 0 }] });
      for await (const { offset, value } of reader) {
        history.finalReads.push({ partition, offset: Number(offset), id: numberOf(value) });
        if (Number(offset) + 1 >= end) break;
      }
      await reader.close();
    }
    const behind = (): string[] =>
      [...ends]
        .filter(([partition, end]) => readers.seen(partition) < end)
        .map(([partition, end]) => `${partition}: ${readers.seen(partition)} of ${end}`);
    await cluster.until(() => behind().length === 0, RECOVERY_MS).catch(() => undefined);
    if (behind().length > 0) this.problems.push(`the group did not read all: ${behind().join()}`);
  }

  /** The same on every disk; answers how many leader epochs were begun. */
  private async judgeReplicas(client: Client): Promise<number> {
    const { cluster } = this;
    const { partitions } = await client.admin().describeTopic(TOPIC, { offsets: false });
    const settled = (): boolean =>
      partitions.every(({ partition }) => {
        const replicas = readReplicas(cluster, partition);
        const [first] = replicas;
        return replicas.every(
          ({ highWatermark, logEndOffset }) =>
            highWatermark === logEndOffset && highWatermark === first?.highWatermark,
        );
      });
    await cluster
      .until(settled, RECOVERY_MS)
      .catch(() => this.problems.push('the replicas do not agree on the high watermark'));
    this.problems.push(...compareReplicas(cluster, PARTITIONS));
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      for (const { brokerId, bytes } of readReplicas(cluster, partition)) {
        cluster.trace.note(cluster.clock.now(), `log ${brokerId} ${partition}`, bytes);
      }
    }
    return partitions.reduce((sum, { leaderEpoch }) => sum + leaderEpoch, 0);
  }

  private outcome(readers: GroupReader, elections: number): Outcome {
    const { cluster, history } = this;
    const { digest, events } = cluster.trace;
    const problems = [...this.problems, ...readers.problems];
    for (const { level, text } of cluster.logged) {
      if (level === 'error') problems.push(`logged as error: ${text}`);
    }
    const simulatedMs = Math.round(cluster.clock.now());
    const verdict = checkHistory(history);
    const { seed } = this.options;
    return { seed, verdict, problems, elections, trace: digest, events, simulatedMs };
  }

  private pause(atLeastMs: number, atMostMs: number): Promise<void> {
    const { clock, random } = this.cluster;
    return sleep(clock, atLeastMs + random.next() * (atMostMs - atLeastMs));
  }
}

function shuffled(ids: readonly number[], { random }: SimulatedCluster): number[] {
  const left = [...ids];
  return ids.map(() => left.splice(randomInteger(random, left.length), 1)[0]!);
}
