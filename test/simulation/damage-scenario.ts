/**
 * A simulated cluster under load, on whose disks bits flip: what was written is read right throughout, a replica with a
 * wrong byte neither serves it nor leads, and all of them are whole again at the end. Where, when and how often is drawn
 * from the seed. Called by damage.test.ts.
 */
import type { Client } from '@tributary/client';
import { randomInteger, sleep } from '@tributary/common';
import { batchSizeAt, BATCH_HEADER_BYTES } from '@tributary/record';
import {
  checkHistory,
  compareReplicas,
  GroupReader,
  History,
  NumberedWriter,
  numberOf,
  SimulatedCluster,
  type Verdict,
} from '@tributary/testkit';

export interface DamageOutcome {
  readonly verdict: Verdict;
  readonly problems: readonly string[];
  /** Replicas that were found to be damaged. */
  readonly found: number;
  readonly refilled: number;
}

const TOPIC = 'orders';
const PARTITIONS = 2;
const ROUNDS = 4;
const RUN_MS = 10 * 60_000;
const RECOVERY_MS = 60_000;
const READ_BYTES = 64 * 1024;

interface Flip {
  readonly brokerId: number;
  readonly partition: number;
  readonly path: string;
}

export class DamageScenario {
  readonly cluster: SimulatedCluster;
  private readonly history = new History();
  private readonly problems = new Set<string>();
  private isOver = false;

  constructor(seed: number) {
    this.cluster = new SimulatedCluster({ seed });
  }

  run(): Promise<DamageOutcome> {
    return this.cluster.run(() => this.play(), RUN_MS);
  }

  private async play(): Promise<DamageOutcome> {
    const { cluster, history } = this;
    const { clock, random } = cluster;
    await cluster.start();
    const client = cluster.client('writer');
    const configs = { 'min.insync.replicas': '2', 'segment.bytes': '4096' };
    const topic = { topic: TOPIC, partitions: PARTITIONS, replicationFactor: 3, configs };
    await client.admin().createTopic(topic);
    const load = { topic: TOPIC, partitions: PARTITIONS };
    const writer = new NumberedWriter(client, clock, random, history, load);
    const readers = new GroupReader(history, { topic: TOPIC, group: 'billing' });
    writer.start();
    readers.join(cluster.client('reader'), 'reader');
    const watched = this.watchLeaders();
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.pause(500, 1_500);
      await this.damageOne(client);
    }
    await writer.stop();
    await this.untilInSync(client);
    await this.readAll(cluster.client('judge'), (partition, offset, id) =>
      history.finalReads.push({ partition, offset, id }),
    );
    await readers.stop();
    this.isOver = true;
    await watched;
    await this.judgeReplicas();
    await cluster.stop();
    return this.outcome(readers);
  }

  /** Flips a bit, lets it be found, waits until the replica is whole again. */
  private async damageOne(client: Client): Promise<void> {
    const { cluster } = this;
    const flip = this.flip();
    if (!flip) return;
    // Whoever leads is read by a consumer; of the others only what replicates or verifies reads old segments.
    await this.readAll(client, () => undefined);
    await this.verify(flip);
    if (cluster.random.next() < 0.3) {
      await this.pause(1, 300);
      cluster.crash(flip.brokerId);
      await this.pause(1, 2_000);
      await cluster.restart(flip.brokerId);
    }
    await this.untilInSync(client);
  }

  private flip(): Flip | undefined {
    const { cluster } = this;
    const { random } = cluster;
    const partition = randomInteger(random, PARTITIONS);
    const leader = cluster.leadersOf(partition)[0] ?? 1;
    const ids = cluster.brokerIds;
    const brokerId = random.next() < 0.5 ? leader : ids[randomInteger(random, ids.length)]!;
    const { disk } = cluster.broker(brokerId);
    const directory = `/data/${TOPIC}-${partition}`;
    const names = disk.list(directory).filter((name) => !name.endsWith('.tmp'));
    // Most of them in batches; some in what lies beside: indexes, seals, snapshots, checkpoints.
    const chosen = random.next() < 0.7 ? names.filter((name) => name.endsWith('.log')) : names;
    const path = `${directory}/${chosen[randomInteger(random, chosen.length)]}`;
    const byte = this.byteOf(path, brokerId);
    if (byte === undefined) return undefined;
    disk.flipBit(path, byte, randomInteger(random, 8));
    cluster.note(`broker ${brokerId}: a bit of byte ${byte} in ${path} is flipped`);
    return { brokerId, partition, path };
  }

  /** In a batch, where there are some: they are small, and their headers would be met too seldom. */
  private byteOf(path: string, brokerId: number): number | undefined {
    const { random } = this.cluster;
    const { disk } = this.cluster.broker(brokerId);
    const size = disk.fileSize(path);
    if (size === 0) return undefined;
    if (!path.endsWith('.log')) return randomInteger(random, size);
    const batches = batchesOf(disk.openFile(path));
    const batch = batches[randomInteger(random, batches.length)];
    if (!batch) return undefined;
    const inHeader = random.next() < 0.5;
    return batch.position + randomInteger(random, inHeader ? BATCH_HEADER_BYTES : batch.bytes);
  }

  /** As a scan of the whole log does. */
  private async verify({ brokerId, partition }: Flip): Promise<void> {
    const { status, logs } = this.cluster.broker(brokerId);
    const replica = status?.partitions.find((one) => one.partition === partition);
    const log = replica && logs?.get(replica.topicId, partition);
    if (!log || replica.outage) return;
    try {
      for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
        const batches = await log.readAsync(offset, READ_BYTES, log.logEndOffset);
        if (batches.length === 0) break;
        offset = endOf(batches);
      }
    } catch {
      // Found: the broker was told by the log itself.
    }
  }

  private async readAll(
    client: Client,
    take: (partition: number, offset: number, id: number) => void,
  ): Promise<void> {
    const { partitions } = await client.admin().describeTopic(TOPIC);
    for (const { partition, endOffset } of partitions) {
      const end = Number(endOffset ?? 0n);
      if (end === 0) continue;
      const reader = client.consumer({ assign: [{ topic: TOPIC, partition, offset: 0 }] });
      let next = 0;
      for await (const { offset, value } of reader) {
        if (Number(offset) !== next) this.problems.add(`read ${offset} where ${next} was next`);
        take(partition, Number(offset), numberOf(value));
        next = Number(offset) + 1;
        if (next >= end) break;
      }
      await reader.close();
    }
  }

  /** R10: a replica that is known to be damaged, or is not whole yet, does not lead. */
  private async watchLeaders(): Promise<void> {
    const { cluster } = this;
    while (!this.isOver) {
      for (const id of cluster.brokerIds) {
        for (const { partition, role, outage } of cluster.broker(id).status?.partitions ?? []) {
          if (role !== 'leader' || !outage) continue;
          this.problems.add(`broker ${id} leads partition ${partition} while ${outage}`);
        }
      }
      await sleep(cluster.clock, 5);
    }
  }

  private async untilInSync(client: Client): Promise<void> {
    const end = this.cluster.clock.now() + RECOVERY_MS;
    for (;;) {
      const { partitions } = await client.admin().describeTopic(TOPIC, { offsets: false });
      const short = partitions.filter(
        ({ isr, leader, offlineReplicas }) =>
          leader === undefined || isr.length < 3 || offlineReplicas.length > 0,
      );
      if (short.length === 0) return;
      if (this.cluster.clock.now() >= end) {
        this.problems.add(`not in full ISR after ${RECOVERY_MS} ms: ${JSON.stringify(short)}`);
        return;
      }
      await sleep(this.cluster.clock, 50);
    }
  }

  private async judgeReplicas(): Promise<void> {
    const { cluster } = this;
    await sleep(cluster.clock, 2_000);
    for (const problem of compareReplicas(cluster, PARTITIONS)) this.problems.add(problem);
    for (const id of cluster.brokerIds) {
      const aside = cluster
        .broker(id)
        .disk.list('/data')
        .filter((name) => /-damaged/.test(name));
      if (aside.length > 0) this.problems.add(`broker ${id} still keeps ${aside.join(', ')}`);
    }
  }

  private outcome(readers: GroupReader): DamageOutcome {
    const { cluster, history } = this;
    const count = (text: string): number =>
      cluster.logged.filter((line) => line.text.includes(text)).length;
    return {
      verdict: checkHistory(history),
      problems: [...this.problems, ...readers.problems],
      found: count('a log failed and is offline') + count('a log cannot be loaded'),
      refilled: count('a damaged replica is complete again'),
    };
  }

  private pause(atLeastMs: number, atMostMs: number): Promise<void> {
    const { clock, random } = this.cluster;
    return sleep(clock, atLeastMs + random.next() * (atMostMs - atLeastMs));
  }
}

interface BatchBytes {
  readonly position: number;
  readonly bytes: number;
}

function batchesOf(file: { size: number; read(at: number, bytes: number): Buffer }): BatchBytes[] {
  const found: BatchBytes[] = [];
  for (let position = 0; position + BATCH_HEADER_BYTES <= file.size;) {
    const bytes = batchSizeAt(file.read(position, BATCH_HEADER_BYTES), 0) ?? 0;
    found.push({ position, bytes });
    position += bytes;
  }
  return found;
}

function endOf(batches: Buffer): number {
  let end = 0;
  for (let at = 0; at < batches.length;) {
    const size = batchSizeAt(batches, at) ?? batches.length;
    end = Number(batches.readBigInt64BE(at)) + batches.readInt32BE(at + 23) + 1;
    at += size;
  }
  return end;
}
