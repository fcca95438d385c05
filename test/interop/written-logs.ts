/**
 * Logs as brokers write them: a broker on a real disk, in this process, to which producers send with every codec; one topic
 * is compacted, in two rounds, so that its batches have gaps, empty batches and tombstones with a horizon.
 */
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client } from '@tributary/client';
import { silentLogger, systemClock, systemRandom } from '@tributary/common';
import { NodeDisk } from '@tributary/log';
import { GrpcTransport } from '@tributary/protocol';
import { CODEC_NAMES, type CodecName } from '@tributary/record';
import { EmbeddedCluster } from '@tributary/server';

const RECORDS_PER_CODEC = 300;
const COMPACTED_KEYS = 20;
const COMPACTED_ROUNDS = 40;
/** Maintenance has its first round after 5 s, the next ones each 30 s. */
const COMPACTION_WITHIN_MS = 90_000;

export interface SentRecord {
  readonly key: string;
  readonly value: string | null;
}

export interface WrittenLogs {
  /** Of the broker. */
  readonly directory: string;
  /** By partition directory and offset. */
  readonly sent: ReadonlyMap<string, ReadonlyMap<number, SentRecord>>;
  readonly compacted: string;
}

/** Stopped cleanly when it resolves. `root` is an empty directory. */
export async function writeLogs(root: string, say: (line: string) => void): Promise<WrittenLogs> {
  const cluster = await EmbeddedCluster.start({
    brokers: [{ port: 0, httpPort: 0 }],
    clock: systemClock,
    random: systemRandom,
    loggerOf: () => silentLogger,
    transportOf: () => new GrpcTransport({ logger: silentLogger }),
    disk: new NodeDisk(),
    directory: root,
  });
  const [broker] = cluster.brokers;
  const client = createClient({ brokers: [`${broker?.host}:${broker?.port}`] });
  const directory = join(root, 'broker-1');
  const sent = new Map<string, Map<number, SentRecord>>();
  try {
    say('writing with every codec ...');
    await createTopic(client, 'codecs', { 'segment.bytes': '20000' });
    for (const codec of CODEC_NAMES) await sendWith(client, codec, sent);
    say('writing and compacting ...');
    await createTopic(client, 'compacted', {
      'cleanup.policy': 'compact',
      'segment.bytes': '9000',
      'min.cleanable.dirty.ratio': '0',
    });
    await sendKeyed(client, sent);
    await whenCompacted(join(directory, 'compacted-0'));
  } finally {
    await client.close({ timeoutMs: 5000 });
    await cluster.close();
  }
  return { directory, sent, compacted: 'compacted-0' };
}

async function createTopic(
  client: Client,
  topic: string,
  configs: Record<string, string>,
): Promise<void> {
  await client.admin().createTopic({ topic, partitions: 1, replicationFactor: 1, configs });
}

type Sent = Map<string, Map<number, SentRecord>>;

async function sendWith(client: Client, codec: CodecName, sent: Sent): Promise<void> {
  const producer = client.producer({ codec, lingerMs: 5 });
  const records = Array.from({ length: RECORDS_PER_CODEC }, (_, i) => ({
    key: `${codec}-${i}`,
    value: i % 17 === 0 ? null : `record ${i} with ${codec} ${'and more '.repeat(i % 20)}`.trim(),
  }));
  for (let from = 0; from < records.length; from += 30) {
    await send(producer, 'codecs', records.slice(from, from + 30), sent);
  }
  await producer.close();
}

/** Keys are written over and over; those of odd number end with a tombstone. Each round has a producer of its own now and then. */
async function sendKeyed(client: Client, sent: Sent): Promise<void> {
  let producer = client.producer({ codec: 'lz4' });
  for (let round = 0; round < COMPACTED_ROUNDS; round += 1) {
    if (round % 10 === 9) {
      await producer.close();
      producer = client.producer({ codec: round % 20 === 9 ? 'zstd' : 'none' });
    }
    const records = Array.from({ length: COMPACTED_KEYS }, (_, i) => ({
      key: `key-${i}`,
      value: round > COMPACTED_ROUNDS - 20 && i % 2 === 1 ? null : `round ${round} ${randomUUID()}`,
    }));
    await send(producer, 'compacted', records, sent);
  }
  await producer.close();
}

async function send(
  producer: ReturnType<Client['producer']>,
  topic: string,
  records: readonly SentRecord[],
  sent: Sent,
): Promise<void> {
  const name = `${topic}-0`;
  const byOffset = sent.get(name) ?? new Map<number, SentRecord>();
  sent.set(name, byOffset);
  const outcomes = await Promise.all(
    records.map(({ key, value }) =>
      producer.send(topic, {
        key: Buffer.from(key),
        value: value === null ? null : Buffer.from(value),
      }),
    ),
  );
  outcomes.forEach(({ offset }, i) => byOffset.set(Number(offset), records[i] as SentRecord));
}

/** The segments before the active one were rewritten: most of their bytes are gone. */
async function whenCompacted(directory: string): Promise<void> {
  const before = logBytes(directory);
  const until = performance.now() + COMPACTION_WITHIN_MS;
  while (logBytes(directory) > before / 2) {
    if (performance.now() > until) throw new Error(`${directory} was not compacted`);
    await pause(200);
  }
}

function logBytes(directory: string): number {
  const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'));
  return names.reduce((sum, name) => sum + fs.statSync(join(directory, name)).size, 0);
}
