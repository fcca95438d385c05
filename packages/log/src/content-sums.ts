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
  const { sums, rest } = takeSums(text);
  return rest === '' ? sums : [];
}

/** The sums, and what stands behind them. */
export function takeSums(text: string): { readonly sums: string[]; readonly rest: string } {
  const [whole, line, own] = /^(crc32c(?: [0-9a-f]{8})+)\n([0-9a-f]{8})\n/.exec(text) ?? [];
  if (whole === undefined || line === undefined || own !== sumOf(line))
    return { sums: [], rest: '' };
  return { sums: line.split(' ').slice(1), rest: text.slice(whole.length) };
}
