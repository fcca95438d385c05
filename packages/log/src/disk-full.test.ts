/**
 * A disk runs full under logs that are written to, and gets room again: on a real file system of 1 MiB where this process
 * may mount one, and on a simulated disk of that size in any case.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTopicConfig, hasCode, silentLogger, systemRandom } from '@tributary/common';
import { splitBatches } from '@tributary/record';
import { makeBatch, readWholeLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Disk } from './disk';
import { NodeDisk } from './disk/node-disk';
import type { Log } from './log';
import { LogDirectory } from './log-directory';

const CAPACITY_BYTES = 2 ** 20;
const BALLAST_BYTES = 300_000;
const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const config = { ...defaultTopicConfig, segmentBytes: 100_000, maxMessageBytes: 50_000 };

interface Place {
  readonly disk: Disk;
  readonly root: string;
}

/** undefined: this process may not mount anything. */
function mountSmall(): string | undefined {
  const root = fs.mkdtempSync(join(tmpdir(), 'tributary-full-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${CAPACITY_BYTES}`, 'tmpfs', root], {
      stdio: 'ignore',
    });
    return root;
  } catch {
    fs.rmdirSync(root);
    return undefined;
  }
}

const mounted = mountSmall();
afterAll(() => {
  if (mounted === undefined) return;
  execFileSync('umount', [mounted]);
  fs.rmdirSync(mounted);
});
if (mounted === undefined) {
  process.stdout.write('no tmpfs could be mounted here: the simulated disk alone is filled\n');
}

function simulated(): Place {
  const disk = new SimulatedDisk();
  disk.setFull(CAPACITY_BYTES);
  return { disk, root: '/disk' };
}

const places: [string, () => Place][] = [['a simulated disk of 1 MiB', simulated]];
if (mounted !== undefined) {
  places.push(['a tmpfs of 1 MiB', () => ({ disk: new NodeDisk(), root: mounted })]);
}

class Writer {
  readonly acknowledged: Buffer[] = [];
  private sequence = 0;

  constructor(public log: Log) {}

  /** False: the disk is full. */
  append(bytes: number): boolean {
    const values = [`${this.sequence}`.padEnd(bytes, '.')];
    const batch = makeBatch({ values, producer: [1 + this.log.partition, 0, this.sequence] });
    try {
      this.log.appendAsLeader(batch, { leaderEpoch: 1 });
    } catch (error) {
      if (!hasCode(error, 'DISK_FULL')) throw error;
      expect(error.outcome).toBe('not written');
      return false;
    }
    this.acknowledged.push(Buffer.from(batch));
    this.sequence += 1;
    return true;
  }

  /** What can be read is what was acknowledged, nothing more and nothing less. */
  check(): void {
    expect(this.log.failure).toBeUndefined();
    expect(this.log.logEndOffset).toBe(this.acknowledged.length);
    const found = splitBatches(readWholeLog(this.log));
    expect(found).toHaveLength(this.acknowledged.length);
    found.forEach((batch, i) => expect(batch.equals(this.acknowledged[i] as Buffer)).toBe(true));
  }
}

test.each(places)(
  '%s: refuses while it is full, and goes on when there is room',
  async (_name, at) => {
    const { disk, root } = at();
    const directory = `${root}/data`;
    const ballast = `${root}/ballast`;
    disk.makeDirectory(root);
    const filler = disk.openFile(ballast, { create: true });
    filler.append([Buffer.alloc(BALLAST_BYTES)]);
    filler.close();
    const open = (): Promise<LogDirectory> =>
      LogDirectory.open({
        disk,
        directory,
        brokerId: 1,
        clusterId: 'c',
        clock: new SimulatedClock(),
        random: systemRandom,
        logger: silentLogger,
        configFor: () => config,
      });
    let store = await open();
    const writers: Writer[] = [];
    for (const partition of [0, 1]) {
      const log = (await store.create('orders', TOPIC_ID, partition, config)) as Log;
      await log.assignEpoch(1);
      writers.push(new Writer(log));
    }
    const [a, b] = writers as [Writer, Writer];

    // Rolls several times on the way, and fills the disk to the last bytes.
    for (const bytes of [20_000, 3000, 200, 1]) {
      while (a.append(bytes)) if (a.acknowledged.length % 7 === 0) b.append(100);
    }
    expect(b.append(5000)).toBe(false);
    for (const writer of writers) writer.check();
    expect(a.log.offsetForTimestamp(0, Infinity)).toMatchObject({ offset: 0 });
    await a.log
      .flush()
      .catch((error: unknown) => expect(error).toMatchObject({ code: 'DISK_FULL' }));
    for (const writer of writers) writer.check();

    disk.remove(ballast);
    for (let i = 0; i < 20; i += 1) {
      expect(a.append(2000)).toBe(true);
      expect(b.append(2000)).toBe(true);
    }
    await Promise.all(writers.map(({ log }) => log.flush()));
    for (const writer of writers) writer.check();
    await store.close({ clean: true, brokerEpoch: 1 });

    store = await open();
    expect(store.previousStop.kind).toBe('clean');
    for (const writer of writers) {
      writer.log = store.get(TOPIC_ID, writer.log.partition) as Log;
      writer.check();
      expect(writer.append(10)).toBe(true);
    }
    await store.close({ clean: true, brokerEpoch: 2 });
  },
);
