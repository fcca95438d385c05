/** What DumpLogSegments prints with --deep-iteration --print-data-log, parsed. Keys and values are plain text on one line. */
export interface KafkaBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly count: number;
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly leaderEpoch: number;
  readonly deleteHorizon: number | undefined;
  readonly position: number;
  readonly maxTimestamp: number;
  readonly size: number;
  readonly codec: string;
  readonly crc: number;
  readonly isValid: boolean;
  readonly records: KafkaRecord[];
}

export interface KafkaRecord {
  readonly offset: number;
  readonly key: string;
  readonly value: string | null;
}

const RECORD =
  /^\| offset: (\d+) .*? valueSize: (-?\d+) .*?headerKeys: \[\] key: (\S+)(?: payload: (.*))?$/;

export function parseBatches(text: string): KafkaBatch[] {
  const batches: KafkaBatch[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('baseOffset: ')) batches.push(parseBatch(line));
    const [, offset, valueSize, key, payload] = RECORD.exec(line) ?? [];
    if (offset === undefined || key === undefined) continue;
    const value = valueSize === '-1' ? null : (payload ?? '');
    batches.at(-1)?.records.push({ offset: Number(offset), key, value });
  }
  return batches;
}

function parseBatch(line: string): KafkaBatch {
  const field = (name: string): string => new RegExp(`\\b${name}: (\\S+)`).exec(line)?.[1] ?? '';
  const horizon = /^OptionalLong\[(\d+)\]$/.exec(field('deleteHorizonMs'))?.[1];
  return {
    baseOffset: Number(field('baseOffset')),
    lastOffset: Number(field('lastOffset')),
    count: Number(field('count')),
    baseSequence: Number(field('baseSequence')),
    lastSequence: Number(field('lastSequence')),
    producerId: Number(field('producerId')),
    producerEpoch: Number(field('producerEpoch')),
    leaderEpoch: Number(field('partitionLeaderEpoch')),
    deleteHorizon: horizon === undefined ? undefined : Number(horizon),
    position: Number(field('position')),
    maxTimestamp: Number(field('CreateTime')),
    size: Number(field('size')),
    codec: field('compresscodec'),
    crc: Number(field('crc')),
    isValid: field('isvalid') === 'true',
    records: [],
  };
}
