/**
 * The text of Kafka's checkpoint files: version, count of lines, then lines of words. Checked strictly: a
 * torn or strange file is CORRUPT_LOG, an unknown version UNKNOWN_FORMAT; who reads decides what to do without it.
 */
import { partitionName, TributaryError } from '@tributary/common';

const VERSION = 0;

export function formatCheckpoint(lines: readonly (readonly (string | number)[])[]): string {
  return [VERSION, lines.length, ...lines.map((words) => words.join(' '))].join('\n') + '\n';
}

/** @param words how many words a line has. */
export function parseCheckpoint(text: string, path: string, words: number): string[][] {
  const [version, count, ...rest] = text.split('\n');
  if (version === undefined || !/^[0-9]+$/.test(version)) throw corrupt(path, 'no version');
  if (Number(version) !== VERSION) {
    throw new TributaryError(
      'UNKNOWN_FORMAT',
      `${path} has version ${version}, this program knows ${VERSION}`,
    );
  }
  if (rest.pop() !== '') throw corrupt(path, 'the last line is cut off');
  if (count !== String(rest.length))
    throw corrupt(path, `${rest.length} lines instead of ${count}`);
  return rest.map((line) => {
    const fields = line.split(' ');
    if (fields.length !== words) throw corrupt(path, `not ${words} words: ${line}`);
    return fields;
  });
}

/** The inverse of `parseOffsets`. */
export function formatOffsets(offsets: ReadonlyMap<string, number>): string {
  const lines = [...offsets].map(([name, offset]) => {
    const dash = name.lastIndexOf('-');
    return [name.slice(0, dash), name.slice(dash + 1), offset];
  });
  return formatCheckpoint(lines);
}

/** "topic partition offset" lines as a map by partition name. */
export function parseOffsets(text: string, path: string): Map<string, number> {
  const offsets = new Map<string, number>();
  for (const [topic = '', partition = '', offset = ''] of parseCheckpoint(text, path, 3)) {
    const name = partitionName(topic, parseWholeNumber(partition, path));
    offsets.set(name, parseWholeNumber(offset, path));
  }
  return offsets;
}

export function parseWholeNumber(text: string, path: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw corrupt(path, `${text} is not a whole number`);
  return value;
}

function corrupt(path: string, problem: string): TributaryError {
  return new TributaryError('CORRUPT_LOG', `${path}: ${problem}`, { details: { path } });
}
