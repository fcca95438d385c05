/**
 * Kafka's DumpLogSegments on our files, compared with what was sent and with what our own reader says of each batch. Called
 * by the interop command.
 */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dumpPath, NodeDisk, type DumpLine } from '@tributary/log';
import type { Kafka } from './kafka';
import { parseBatches, type KafkaBatch } from './kafka-output';
import { writeLogs, type SentRecord, type WrittenLogs } from './written-logs';

export interface DumpVerdict {
  readonly differences: string[];
  readonly summary: string;
}

export async function dumpWithKafka(
  kafka: Kafka,
  say: (line: string) => void,
): Promise<DumpVerdict> {
  const root = fs.mkdtempSync(join(tmpdir(), 'tributary-interop-'));
  try {
    const written = await writeLogs(root, say);
    say("reading with Kafka's tools ...");
    return await compare(kafka, written);
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

async function compare(kafka: Kafka, written: WrittenLogs): Promise<DumpVerdict> {
  const differences: string[] = [];
  const counts = {
    segments: 0,
    batches: 0,
    records: 0,
    emptyBatches: 0,
    horizons: 0,
    producers: 0,
  };
  for (const [partition, sent] of written.sent) {
    const directory = join(written.directory, partition);
    const files = fs.readdirSync(directory).map((name) => join(directory, name));
    const found = new Map<number, SentRecord>();
    for (const path of files.filter((name) => name.endsWith('.log'))) {
      const text = await kafka.dumpLog(['--deep-iteration', '--print-data-log', '--max-message-size', '1100000', '--files', path]); // prettier-ignore
      const batches = parseBatches(text);
      differences.push(...complaints(path, text), ...(await comparedWithOurs(path, batches)));
      for (const { records } of batches) {
        for (const { offset, key, value } of records) found.set(offset, { key, value });
      }
      counts.segments += 1;
      counts.batches += batches.length;
      counts.emptyBatches += batches.filter((batch) => batch.records.length === 0).length;
      counts.horizons += batches.filter((batch) => batch.deleteHorizon !== undefined).length;
    }
    counts.records += found.size;
    const isCompacted = partition === written.compacted;
    differences.push(...comparedWithSent(partition, { sent, found, isCompacted }));
    differences.push(...(await checkIndexes(kafka, files)));
    counts.producers += await countProducers(kafka, files, differences);
  }
  differences.push(...(await checkCheckpoints(kafka, written)));
  if (counts.emptyBatches === 0) differences.push('no empty batch was written');
  if (counts.horizons === 0) differences.push('no batch with a delete horizon was written');
  if (counts.producers === 0) differences.push('no producer was in the snapshots');
  const what = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return { differences, summary: `${differences.length} differences: ${what.join(', ')}` };
}

/** What the tool says itself when it does not like what it reads. */
function complaints(path: string, text: string): string[] {
  const lines = text.split('\n');
  return lines
    .filter((line) => /isvalid: false|mismatch|Exception|corrupt|Found/i.test(line))
    .filter((line) => !line.startsWith('| offset'))
    .map((line) => `${path}: ${line}`);
}

async function comparedWithOurs(path: string, batches: readonly KafkaBatch[]): Promise<string[]> {
  const ours: Omit<KafkaBatch, 'records'>[] = [];
  for await (const line of dumpPath(new NodeDisk(), path)) {
    if (line.type === 'batch') ours.push(asKafkaSays(line));
    if (line.type === 'broken') return [`${path}: our reader: ${line.problem}`];
  }
  const theirs = batches.map(({ records: _records, ...batch }) => batch);
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return [];
  const at = ours.findIndex((batch, i) => JSON.stringify(batch) !== JSON.stringify(theirs[i]));
  const [our, their] = [JSON.stringify(ours[at]), JSON.stringify(theirs[at])];
  return [`${path}: batch ${at}: we read ${our}, Kafka ${their}`];
}

function asKafkaSays(line: Extract<DumpLine, { type: 'batch' }>): Omit<KafkaBatch, 'records'> {
  const { header } = line;
  const hasProducer = header.producerId >= 0;
  return {
    baseOffset: header.baseOffset,
    lastOffset: header.lastOffset,
    count: header.recordsCount,
    baseSequence: header.baseSequence,
    lastSequence: hasProducer ? (header.baseSequence + header.lastOffsetDelta) % 2 ** 31 : -1,
    producerId: header.producerId,
    producerEpoch: header.producerEpoch,
    leaderEpoch: header.leaderEpoch,
    deleteHorizon: header.hasDeleteHorizon ? header.baseTimestamp : undefined,
    position: line.position,
    maxTimestamp: header.maxTimestamp,
    size: line.sizeInBytes,
    codec: header.codec ?? '',
    crc: header.crc,
    isValid: line.crcMatches,
  };
}

interface Compared {
  readonly sent: ReadonlyMap<number, SentRecord>;
  readonly found: ReadonlyMap<number, SentRecord>;
  readonly isCompacted: boolean;
}

function comparedWithSent(partition: string, { sent, found, isCompacted }: Compared): string[] {
  const differences: string[] = [];
  for (const [offset, { key, value }] of found) {
    const record = sent.get(offset);
    if (record?.key === key && record.value === value) continue;
    differences.push(`${partition}: offset ${offset} is ${key}=${value}, sent was ${record?.key}=${record?.value}`); // prettier-ignore
  }
  if (!isCompacted) {
    if (found.size !== sent.size) {
      differences.push(`${partition}: ${found.size} records were found, ${sent.size} were sent`);
    }
    return differences;
  }
  // Of a compacted log the last record of each key must be there, and most others gone.
  const last = new Map([...sent].map(([offset, { key }]) => [key, offset]));
  for (const [key, offset] of last) {
    if (!found.has(offset)) differences.push(`${partition}: the last record of ${key} is gone`);
  }
  if (found.size > sent.size / 2) differences.push(`${partition}: was not compacted`);
  return differences;
}

async function checkIndexes(kafka: Kafka, files: readonly string[]): Promise<string[]> {
  const indexes = files.filter((name) => /\.(index|timeindex)$/.test(name));
  const differences: string[] = [];
  for (const mode of ['--index-sanity-check', '--verify-index-only']) {
    const text = await kafka.dumpLog([mode, '--files', indexes.join(',')]);
    for (const line of text.split('\n')) {
      const [, empty] = /^(.*) is empty\.$/.exec(line) ?? [];
      if (empty !== undefined && fs.statSync(empty).size === 0) continue;
      if (line === '' || /^Dumping |passed sanity check/.test(line)) continue;
      differences.push(`${mode}: ${line}`);
    }
  }
  return differences;
}

/** Kafka reads as many batches of producers as our reader. */
async function countProducers(
  kafka: Kafka,
  files: readonly string[],
  differences: string[],
): Promise<number> {
  let count = 0;
  for (const path of files.filter((name) => name.endsWith('.snapshot'))) {
    const text = await kafka.dumpLog(['--files', path]);
    const theirs = text.split('\n').filter((line) => line.startsWith('producerId: ')).length;
    let ours = 0;
    for await (const line of dumpPath(new NodeDisk(), path))
      ours += line.type === 'producer' ? 1 : 0;
    if (ours !== theirs) differences.push(`${path}: we read ${ours} batches, Kafka ${theirs}`);
    count += theirs;
  }
  return count;
}

async function checkCheckpoints(kafka: Kafka, written: WrittenLogs): Promise<string[]> {
  const partitions = [...written.sent.keys()];
  const text = await kafka.run('ReadCheckpoints', [written.directory, ...partitions]);
  const lines = text.split('\n');
  return partitions.flatMap((partition) => {
    const end = Math.max(...(written.sent.get(partition)?.keys() ?? [])) + 1;
    const wanted = [
      `recovery-point-offset-checkpoint ${partition} ${end}`,
      `log-start-offset-checkpoint ${partition} 0`,
      `leader-epoch-checkpoint ${partition} 0 0`,
    ];
    const missing = wanted.filter((line) => !lines.includes(line));
    const hasId = lines.some((line) => line.startsWith(`partition.metadata ${partition} `));
    if (!hasId) missing.push(`partition.metadata ${partition}`);
    return missing.map((line) => `Kafka does not read: ${line}`);
  });
}
