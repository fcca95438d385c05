/**
 * Does a replica that catches up, or a follower whose disk stands still, hurt the others? Real brokers and a real ZooKeeper
 * under a steady load with acks=all on one topic; beside it a replica of another topic catches up so many GiB, and then one
 * broker's disk completes no sync. The p99 of acks=all then is compared with the quiet one of the same run; while the disk
 * stands still something must want to sync, so that is compared with the same writes to a disk in order. Called by the bench.
 */
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { TributaryError } from '@tributary/common';
import { createClient, type Client } from '@tributary/client';
import { DevCluster } from '@tributary/testkit';
import type { CatchUpArguments } from '../arguments';
import type { ScratchDirectory } from '../scratch-directory';
import { SteadyLoad, type Latencies } from './steady-load';

/** What is measured; what catches up; what waits for the disk that stands still. */
const QUIET = 'quiet';
const BULK = 'bulk';
const SYNCED = 'synced';
const PARTITIONS = 6;
/** The one that is away, and whose disk stands still. */
const FOLLOWER = 3;
const WAIT_MS = 600_000;
const SETTLE_MS = 3_000;
const BULK_RECORD_BYTES = 64 * 2 ** 10;
const BULK_UNANSWERED = 256;
const WANTED_RATIO = 2;

export interface CatchUpSummary {
  readonly quietP99Ms: number;
  readonly catchUpP99Ms: number;
  /** With the writes beside it that wait for syncs, and the disk in order. */
  readonly syncedP99Ms: number;
  readonly stalledP99Ms: number;
  readonly catchUpRatio: number;
  readonly stalledRatio: number;
  readonly gib: number;
  readonly catchUpSeconds: number;
  readonly failed: number;
}

export interface CatchUpReport {
  readonly table: string;
  readonly summary: CatchUpSummary;
}

interface Bench {
  readonly cluster: DevCluster;
  readonly client: Client;
  readonly load: SteadyLoad;
  readonly stallFile: string;
  readonly options: CatchUpArguments;
  readonly print: (line: string) => void;
}

export async function benchCatchUp(
  scratch: ScratchDirectory,
  options: CatchUpArguments,
  print: (line: string) => void,
): Promise<CatchUpReport> {
  const stallFile = join(scratch.make('control'), 'stall');
  print('starting ZooKeeper and three brokers');
  const cluster = await DevCluster.start({
    brokers: 3,
    directory: scratch.make('cluster'),
    environment: { BENCH_STALL_FILE: stallFile },
    place: (id) => (id === FOLLOWER ? { script: join(__dirname, 'stalling-broker.js') } : {}),
    flags: options.flags,
  });
  const client = createClient({ brokers: cluster.addresses, clientId: 'bench' });
  const load = new SteadyLoad(client, {
    topic: QUIET,
    partitions: PARTITIONS,
    recordsPerSecond: options.recordsPerSecond,
    recordBytes: 200,
  });
  try {
    return await run({ cluster, client, load, stallFile, options, print });
  } finally {
    rmSync(stallFile, { force: true });
    await load.stop();
    await client.close();
    await cluster.stop();
  }
}

async function run(bench: Bench): Promise<CatchUpReport> {
  const { client, load, options, print } = bench;
  const admin = client.admin();
  const create = (topic: string, partitions: number, flush: string): Promise<unknown> =>
    admin.createTopic(
      { topic, partitions, replicationFactor: 3, configs: { 'min.insync.replicas': '2', flush } },
      { timeoutMs: 30_000 },
    );
  await create(QUIET, PARTITIONS, 'os');
  await create(BULK, 1, 'os');
  await create(SYNCED, 3, 'sync');
  load.start();
  await pause(SETTLE_MS);
  const window = async (): Promise<Latencies> => {
    load.take();
    await pause(options.seconds * 1000);
    return load.take();
  };
  print('quiet ...');
  const before = await window();
  const { caughtUp, seconds } = await catchUp(bench);
  await pause(SETTLE_MS);
  print('quiet again ...');
  const between = await window();
  const { inOrder, stalled } = await stall(bench, window);
  return report([before, between], caughtUp, { inOrder, stalled }, { seconds, gib: options.gib });
}

/** The follower is away while the bulk is written; from its return until it has all of it. */
async function catchUp(bench: Bench): Promise<{ caughtUp: Latencies; seconds: number }> {
  const { cluster, client, load, options, print } = bench;
  await cluster.kill(FOLLOWER);
  print(`writing ${options.gib} GiB without broker ${FOLLOWER} ...`);
  await writeBulk(client, options.gib * 2 ** 30);
  // What is measured is the catching up, not how the machine brings what was just written to the device.
  await promisify(execFile)('sync');
  await cluster.startBroker(FOLLOWER);
  await until(() => isInSync(client, QUIET));
  print('it catches up ...');
  load.take();
  const startedAt = performance.now();
  if (await isInSync(client, BULK)) {
    throw new TributaryError('INTERNAL', 'it caught up before anything could be measured', {
      hint: 'Write more: --gib 4.',
    });
  }
  await until(() => isInSync(client, BULK));
  return { caughtUp: load.take(), seconds: (performance.now() - startedAt) / 1000 };
}

interface Stall {
  readonly inOrder: Latencies;
  readonly stalled: Latencies;
}

async function stall(bench: Bench, window: () => Promise<Latencies>): Promise<Stall> {
  const { client, stallFile, print } = bench;
  const options = { topic: SYNCED, partitions: 3, recordsPerSecond: 100, recordBytes: 10_000 };
  const synced = new SteadyLoad(client, options);
  synced.start();
  await pause(1000);
  print('writes that wait for syncs ...');
  const inOrder = await window();
  print(`the disk of broker ${FOLLOWER} stands still ...`);
  writeFileSync(stallFile, '');
  const stalled = await window();
  rmSync(stallFile);
  await synced.stop();
  return { inOrder, stalled };
}

async function writeBulk(client: Client, bytes: number): Promise<void> {
  const producer = client.producer({ acks: 'all', batchBytes: 2 ** 20, deliveryTimeoutMs: 60_000 });
  const value = Buffer.alloc(BULK_RECORD_BYTES, 0x62);
  const unanswered = new Set<Promise<unknown>>();
  for (let left = bytes; left > 0; left -= value.length) {
    const sent: Promise<unknown> = producer
      .send(BULK, { partition: 0, key: null, value })
      .finally(() => unanswered.delete(sent));
    unanswered.add(sent);
    if (unanswered.size >= BULK_UNANSWERED) await Promise.race(unanswered);
  }
  await Promise.all(unanswered);
  await producer.close({ timeoutMs: 5_000 });
}

async function isInSync(client: Client, topic: string): Promise<boolean> {
  try {
    const { partitions } = await client.admin().describeTopic(topic, { timeoutMs: 5_000 });
    return partitions.every(({ isr }) => isr.length === 3);
  } catch {
    return false; // it is asked again
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) {
      throw new TributaryError('TIMEOUT', `it did not come to that within ${WAIT_MS} ms`);
    }
    await pause(100);
  }
}

function report(
  quiet: readonly [Latencies, Latencies],
  caughtUp: Latencies,
  { inOrder, stalled }: Stall,
  { seconds, gib }: { readonly seconds: number; readonly gib: number },
): CatchUpReport {
  const quietP99Ms = (quiet[0].p99Ms + quiet[1].p99Ms) / 2;
  const toQuiet = ({ p99Ms }: Latencies): number => p99Ms / quietP99Ms;
  const stalledRatio = stalled.p99Ms / inOrder.p99Ms;
  const speed = ((gib * 1024) / seconds).toFixed(0);
  const rows = [
    ['quiet', quiet[0], toQuiet(quiet[0])],
    ['quiet again', quiet[1], toQuiet(quiet[1])],
    [`${gib} GiB catch up (${speed} MiB/s)`, caughtUp, toQuiet(caughtUp)],
    ['writes that wait for syncs', inOrder, 1],
    ["a follower's disk stalls", stalled, stalledRatio],
  ] as const;
  const lines = rows.map(([name, one, ratio]) =>
    row(name, one.p50Ms, one.p99Ms, one.maxMs, ratio, one.failed),
  );
  const head = row('acks=all, others', 'p50 ms', 'p99 ms', 'max ms', 'p99 ratio', 'failed');
  const wanted = `wanted: p99 ratio up to ${WANTED_RATIO}, none failed\n`;
  return {
    table: `${head}${lines.join('')}${wanted}`,
    summary: {
      quietP99Ms: rounded(quietP99Ms),
      catchUpP99Ms: rounded(caughtUp.p99Ms),
      syncedP99Ms: rounded(inOrder.p99Ms),
      stalledP99Ms: rounded(stalled.p99Ms),
      catchUpRatio: rounded(toQuiet(caughtUp)),
      stalledRatio: rounded(stalledRatio),
      gib,
      catchUpSeconds: rounded(seconds),
      failed: rows.reduce((sum, [, { failed }]) => sum + failed, 0),
    },
  };
}

function row(name: string, ...cells: readonly (string | number)[]): string {
  const texts = cells.map((cell) => (typeof cell === 'number' ? String(rounded(cell)) : cell));
  return `${name.padEnd(32)}${texts.map((text) => text.padStart(11)).join('')}\n`;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
