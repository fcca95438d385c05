/**
 * Opening a log directory of 2,000 partitions, of three segments each, that was closed cleanly, in a fresh process each
 * time: seconds of the open alone, and the largest resident set that the whole process had (Node itself about 45 MiB).
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { defaultTopicConfig } from '@tributary/common';
import { v8Flags } from '@tributary/server';
import { median } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { BatchRing, LEADER_EPOCH } from './batch-ring';
import { openDirectory } from './opened-log';

const PARTITIONS = 2000;
const SEGMENTS = 3;
const BATCH_BYTES = 4096;
const BATCHES_PER_SEGMENT = 4;
const segmentBytes = BATCH_BYTES * BATCHES_PER_SEGMENT;
/** Logs that are written and closed at the same time. */
const PARTITIONS_AT_ONCE = 250;

export interface OpenOutcome {
  readonly partitions: number;
  readonly seconds: number;
  readonly mib: number;
  /** From the start of the process to its readiness, Node's own start included. */
  readonly processSeconds: number;
}

export interface OpenSample {
  readonly seconds: number;
  readonly mib: number;
  readonly processSeconds: number;
  readonly partitions: number;
}

export async function benchOpen(
  scratch: ScratchDirectory,
  repeats: number,
  onProgress: (line: string) => void,
): Promise<OpenOutcome> {
  const directory = scratch.make('partitions');
  await writePartitions(directory);
  const samples: OpenSample[] = [];
  for (let repeat = 1; repeat <= repeats; repeat += 1) {
    const output = await scratch.run(process.execPath, [
      ...v8Flags,
      join(__dirname, 'open-child.js'),
      directory,
    ]);
    const sample = JSON.parse(output) as OpenSample;
    if (sample.partitions !== PARTITIONS) throw new Error(`opened ${sample.partitions} partitions`);
    samples.push(sample);
    onProgress(
      `  ${repeat}/${repeats} ${sample.seconds.toFixed(2)} s, ${sample.mib.toFixed(0)} MiB`,
    );
  }
  scratch.drop('partitions');
  return {
    partitions: PARTITIONS,
    seconds: median(samples.map((sample) => sample.seconds)),
    mib: median(samples.map((sample) => sample.mib)),
    processSeconds: median(samples.map((sample) => sample.processSeconds)),
  };
}

async function writePartitions(directory: string): Promise<void> {
  const config = { ...defaultTopicConfig, segmentBytes };
  const ring = new BatchRing(BATCH_BYTES, BATCHES_PER_SEGMENT * SEGMENTS, Date.now());
  for (let first = 0; first < PARTITIONS; first += PARTITIONS_AT_ONCE) {
    const store = await openDirectory(`${directory}/part-${first}`, config);
    for (let i = first; i < first + PARTITIONS_AT_ONCE; i += 1) {
      const topicId = String(i).padStart(22, '0');
      const log = await store.create(`topic${i}`, topicId, 0, config);
      await log.assignEpoch(LEADER_EPOCH);
      ring.restart();
      ring.prepare(0);
      for (const batch of ring.batches) log.appendAsLeader(batch, { leaderEpoch: LEADER_EPOCH });
    }
    await store.close({ clean: true, brokerEpoch: 1 });
  }
  merge(directory);
}

/** All partitions into one directory, as if they had been written there: 2,000 open logs would need as many descriptors thrice. */
function merge(directory: string): void {
  const parts = fs.readdirSync(directory).map((name) => `${directory}/${name}`);
  const checkpoints = new Map<string, string[]>();
  for (const part of parts) {
    for (const entry of fs.readdirSync(part, { withFileTypes: true })) {
      const path = `${part}/${entry.name}`;
      if (entry.name.endsWith('-checkpoint')) {
        const lines = fs.readFileSync(path, 'utf8').trimEnd().split('\n').slice(2);
        checkpoints.set(entry.name, [...(checkpoints.get(entry.name) ?? []), ...lines]);
      } else {
        fs.renameSync(path, `${directory}/${entry.name}`);
      }
    }
    fs.rmSync(part, { recursive: true });
  }
  for (const [name, lines] of checkpoints) {
    fs.writeFileSync(`${directory}/${name}`, `${['0', lines.length, ...lines].join('\n')}\n`);
  }
}
