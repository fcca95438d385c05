/**
 * The text of a `.crc` file, the companion of a text file in a format of Kafka's that leaves no room for a checksum: the
 * CRC-32C of each content that its companion may have, and of itself, so that it has no byte that can change unseen.
 * Called by the files that have one.
 */
import { crc32c } from '@tributary/record';

export const SUMS_SUFFIX = '.crc';
/** Writes that failed leave contents that may be on the device; each more is one more failed write in a row. */
export const CONTENTS_MAX = 8;

export function sumOf(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, '0');
}

export function formatSums(sums: readonly string[]): string {
  const line = `crc32c ${sums.join(' ')}`;
  return `${line}\n${sumOf(line)}\n`;
}

/** Nothing when it is damaged itself: then the file counts as damaged. */
export function parseSums(text: string): string[] {
  const [, line, own] = /^(crc32c(?: [0-9a-f]{8})+)\n([0-9a-f]{8})\n$/.exec(text) ?? [];
  return line === undefined || own !== sumOf(line) ? [] : line.split(' ').slice(1);
}
