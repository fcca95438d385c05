/**
 * Entries that were added to the epoch file without writing it anew: lines behind the sums in its companion. A failover
 * gives hundreds of partitions a new epoch in the same breath, and making, filling and renaming two files for each of them
 * costs ten times as much as one line.
 *
 *     + <sum of the content that it is added to> <epoch> <start offset> <sum of this line>
 *
 * Invariant: a line counts only for the very content that it names, so that one which outlived a newer content says
 * nothing. Called by the epoch file.
 */
import { sumOf } from './content-sums';

/** Then the file is written anew. */
export const ADDITIONS_MAX = 16;

const LINE = /^(\+ ([0-9a-f]{8}) ([0-9]+ [0-9]+)) ([0-9a-f]{8})$/;
/** What is left of a line that did not reach the device as a whole. A changed bit of its end makes none of these. */
const TORN_LINE = /^[+0-9a-f ]*$/;
/** Only the length had reached the device. One changed bit can make a zero of a space, but not two, nor of the last byte. */
const UNWRITTEN = /\0{2}|\0$/;

export function formatAddition(base: string, entry: string): string {
  const line = `+ ${base} ${entry}`;
  return `${line} ${sumOf(line)}\n`;
}

export interface Additions {
  readonly entries: readonly string[];
  /** Something stands behind the last line: nothing may be written there. */
  readonly isTorn: boolean;
}

/** The entries added to the content with this sum; undefined: a byte of a line has changed. */
export function parseAdditions(text: string, base: string): Additions | undefined {
  const unwritten = text.search(UNWRITTEN);
  const lines = (unwritten < 0 ? text : text.slice(0, unwritten)).split('\n');
  const rest = lines.pop() as string;
  if (!TORN_LINE.test(rest)) return undefined;
  const entries: string[] = [];
  for (const whole of lines) {
    const [, line, of, entry, own] = LINE.exec(whole) ?? [];
    if (line === undefined || entry === undefined || own !== sumOf(line)) return undefined;
    if (of === base) entries.push(entry);
  }
  return { entries, isTorn: unwritten >= 0 || rest !== '' };
}

/** `after` as `before` and entries behind it; undefined: it is something else. Both in Kafka's format of checkpoints. */
export function addedEntries(before: string, after: string): string[] | undefined {
  const known = entriesOf(before);
  const entries = entriesOf(after);
  if (entries.length <= known.length || !entries.startsWith(known)) return undefined;
  return entries.slice(known.length).trimEnd().split('\n');
}

export function withEntries(text: string, added: readonly string[]): string {
  if (added.length === 0) return text;
  const [version, count] = text.split('\n', 2);
  const all = entriesOf(text) + added.map((entry) => `${entry}\n`).join('');
  return `${version}\n${Number(count) + added.length}\n${all}`;
}

/** Behind the lines of the version and of the count. */
function entriesOf(text: string): string {
  return text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
}
