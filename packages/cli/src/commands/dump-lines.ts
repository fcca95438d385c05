/**
 * How `trib debug segment dump` prints what it finds: columns that line up for people, flat objects for programs. Keys
 * and values are cut to a bound, and say so.
 */
import type { DumpedRecord, DumpLine } from '@tributary/log';
import { textOrBase64 } from '../output/bytes';

/** Of a key, a value or a header value; the rest is not printed. */
const SHOWN_BYTES = 1024;

const NUMBER_WIDTH = 10;

type Line<T extends DumpLine['type']> = Extract<DumpLine, { readonly type: T }>;

export function dumpLineAsJson(line: DumpLine): Record<string, unknown> {
  switch (line.type) {
    case 'batch':
      return { type: 'batch', ...batchFields(line) };
    case 'record':
      return { type: 'record', ...recordFields(line) };
    case 'entry':
    case 'producer':
    case 'seal':
    case 'text':
      return { type: line.type, ...line.fields };
    default:
      return { ...line };
  }
}

/** Remembers whether a heading stands above. */
export class DumpText {
  private headed = false;

  render(line: DumpLine): string {
    switch (line.type) {
      case 'file':
        this.headed = false;
        return `${line.path}\n`;
      case 'batch':
        return `${this.heading()}${batchRow(line)}\n`;
      case 'record':
        return `${' '.repeat(NUMBER_WIDTH + 2)}${recordText(line)}\n`;
      case 'broken':
        return `${pad(line.position)}  BROKEN: ${line.problem}\n`;
      case 'text':
        return `${line.fields['text']}\n`;
      default:
        return `${fieldsText(line.fields)}\n`;
    }
  }

  private heading(): string {
    if (this.headed) return '';
    this.headed = true;
    return `${row('POSITION', 'SIZE', 'OFFSETS', 'RECORDS', 'EPOCH', 'CODEC', 'CRC')}  TIMESTAMPS  PRODUCER\n`;
  }
}

function batchRow(line: Line<'batch'>): string {
  const { header } = line;
  const { baseTimestamp, maxTimestamp, producerId, producerEpoch } = header;
  const times = `${time(baseTimestamp)} to ${time(maxTimestamp)} ${header.timestampType}`;
  const producer =
    producerId < 0
      ? '-'
      : `${producerId} epoch ${producerEpoch} sequence ${header.baseSequence} to ${lastSequence(line)}`;
  const cells = row(
    line.position,
    line.sizeInBytes,
    `${header.baseOffset}-${header.lastOffset}`,
    header.recordsCount,
    header.leaderEpoch,
    header.codec ?? `codec ${header.codecId}`,
    line.crcMatches ? 'ok' : 'WRONG',
  );
  return `${cells}  ${header.hasDeleteHorizon ? `delete horizon ${times}` : times}  ${producer}`;
}

function row(...cells: readonly (string | number)[]): string {
  const widths = [NUMBER_WIDTH, NUMBER_WIDTH, 2 * NUMBER_WIDTH + 1, 8, 7, 7, 6];
  return cells.map((cell, i) => String(cell).padStart(widths[i] ?? 0)).join(' ');
}

function pad(position: number): string {
  return String(position).padStart(NUMBER_WIDTH);
}

function batchFields({ position, sizeInBytes, header, crcMatches }: Line<'batch'>) {
  const { baseOffset, lastOffset, recordsCount, leaderEpoch, timestampType } = header;
  const { baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence } = header;
  return {
    position,
    sizeInBytes,
    baseOffset,
    lastOffset,
    recordsCount,
    leaderEpoch,
    codec: header.codec ?? header.codecId,
    timestampType,
    ...(header.hasDeleteHorizon ? { deleteHorizon: baseTimestamp } : { baseTimestamp }),
    maxTimestamp,
    producerId,
    producerEpoch,
    baseSequence,
    crc: header.crc,
    crcMatches,
  };
}

function lastSequence({ header }: Line<'batch'>): number {
  return (header.baseSequence + header.lastOffsetDelta) % 2 ** 31;
}

function recordFields(record: DumpedRecord) {
  const { offset, timestamp, key, value, headers } = record;
  return {
    offset,
    timestamp,
    ...shown('key', key),
    ...shown('value', value),
    headers: headers.map((header) => ({ name: header.key, ...shown('value', header.value) })),
  };
}

function shown(name: string, bytes: Buffer | null): Record<string, string | number | null> {
  if (bytes === null || bytes.length <= SHOWN_BYTES) return textOrBase64(name, bytes);
  return {
    ...textOrBase64(name, bytes.subarray(0, SHOWN_BYTES)),
    [`${name}Bytes`]: bytes.length,
  };
}

/** On one line, whatever is in it. */
function recordText(record: DumpedRecord): string {
  const fields = recordFields(record);
  return Object.entries(fields)
    .filter(([name, value]) => name !== 'headers' || (value as unknown[]).length > 0)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' ');
}

function fieldsText(fields: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value ?? '-'}`)
    .join(' ');
}

function time(timestamp: number): string {
  return timestamp < 0 ? '-' : new Date(timestamp).toISOString();
}
