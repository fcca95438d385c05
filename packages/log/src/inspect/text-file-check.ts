/**
 * The small text files, each of which carries its checksum in its own way: a companion `<file>.crc`, a first line
 * (meta.properties), a last line (the running marker). Called by the inspection of directories.
 */
import { crc32c } from '@tributary/record';
import type { Disk } from '../disk';
import { parseAdditions, withEntries } from '../epoch-additions';
import { readIfThere } from './read-whole';
import { MEANING, type InspectionReport } from './report';
import { findWrongByte } from './wrong-byte';

/** A file with a companion, as ChecksummedTextFile writes it. Gives its text if that may be believed. */
export function readWithCompanion(
  disk: Disk,
  path: string,
  report: InspectionReport,
  meaning: string,
): string | undefined {
  return checkSum(
    { path, bytes: readIfThere(disk, path) },
    companionOf(disk, path),
    report,
    meaning,
  );
}

/** The epoch file: entries may be added to it behind the sums of its companion. */
export function readEpochFile(
  disk: Disk,
  path: string,
  report: InspectionReport,
): string | undefined {
  const companion = companionOf(disk, path);
  const sumsEnd = companion ? companion.indexOf('\n', companion.indexOf('\n') + 1) + 1 : 0;
  const before = report.damages;
  const meaning = MEANING.epochSum;
  const main = { path, bytes: readIfThere(disk, path) };
  const text = checkSum(main, companion?.subarray(0, sumsEnd), report, meaning);
  if (text === undefined || !companion || report.damages > before) return text;
  const rest = companion.subarray(sumsEnd).toString();
  const added = parseAdditions(rest, sumOf(Buffer.from(text)));
  if (added) return withEntries(text, added.entries);
  const problem = 'a line behind the sums fails its own checksum';
  report.damage({ path: `${path}.crc`, position: sumsEnd, problem, meaning });
  return undefined;
}

function companionOf(disk: Disk, path: string): Buffer | undefined {
  return readIfThere(disk, `${path}.crc`);
}

function checkSum(
  { path, bytes }: { readonly path: string; readonly bytes: Buffer | undefined },
  companion: Buffer | undefined,
  report: InspectionReport,
  meaning: string,
): string | undefined {
  if (!bytes) return undefined;
  if (!companion) return bytes.toString(); // of an earlier version, or of Kafka
  const sums = sumsIn(`${path}.crc`, companion, report, meaning);
  if (!sums) return bytes.toString();
  if (sums.includes(sumOf(bytes))) return bytes.toString();
  report.damage({ path, ...sumProblem(bytes, sums), meaning });
  return undefined;
}

/** undefined: it is damaged itself, which is told. */
function sumsIn(
  path: string,
  bytes: Buffer,
  report: InspectionReport,
  meaning: string,
): string[] | undefined {
  const [line = '', own = '', end] = bytes.toString().split('\n');
  if (own === sumOf(Buffer.from(line)) && end === '') return line.split(' ').slice(1);
  const position = isHexSum(own)
    ? wrongPosition(Buffer.from(line), own, line.length + 1)
    : line.length;
  report.damage({ path, position, problem: 'it fails its own checksum', meaning });
  return undefined;
}

/** meta.properties: its first line may hold the checksum of the rest. */
export function checkMetaProperties(disk: Disk, path: string, report: InspectionReport): void {
  const bytes = readIfThere(disk, path);
  if (!bytes) return report.damage({ path, problem: 'there is none', meaning: MEANING.identity });
  const text = bytes.toString();
  const newline = text.indexOf('\n') + 1;
  const body = bytes.subarray(newline);
  const [, stored] = /^# crc32c=([0-9a-f]{8})\n$/.exec(text.slice(0, newline)) ?? [];
  if (stored === sumOf(body)) return;
  if (stored === undefined) {
    if (/^version=[0-9]+\n$/.test(text.slice(0, newline))) return; // of an earlier version
    const position = firstDifference(text.slice(0, newline), `# crc32c=${sumOf(body)}\n`);
    const problem = 'its first line is not its checksum';
    return report.damage({ path, position, problem, meaning: MEANING.identity });
  }
  checkStored(path, { body, bodyAt: newline, stored, storedAt: 9 }, report, MEANING.identity);
}

/** The running marker: one line of JSON, one with its checksum. Gives the JSON if it may be believed. */
export function readRunningMarker(
  disk: Disk,
  path: string,
  report: InspectionReport,
): string | undefined {
  const bytes = readIfThere(disk, path);
  return bytes && withLastLine(path, bytes, { prefix: '\n', meaning: MARKER }, report);
}

/** The placement record: lines, the last of which is the checksum of the others. */
export function checkPlacement(disk: Disk, path: string, report: InspectionReport): void {
  const bytes = readIfThere(disk, path);
  if (bytes) withLastLine(path, bytes, { prefix: 'crc32c ', meaning: PLACEMENT }, report);
}

/** A text that ends with `prefix`, eight digits, a newline: the digits are the checksum of what is before the prefix. */
function withLastLine(
  path: string,
  bytes: Buffer,
  { prefix, meaning }: { readonly prefix: string; readonly meaning: string },
  report: InspectionReport,
): string | undefined {
  const storedAt = Math.max(0, bytes.length - 9);
  const stored = bytes.subarray(storedAt, -1).toString();
  const bodyBytes = Math.max(0, storedAt - prefix.length);
  const body = bytes.subarray(0, bodyBytes);
  const isFramed = bytes.subarray(bodyBytes, storedAt).toString() === prefix && bytes.at(-1) === 10;
  if (!isFramed || !isHexSum(stored)) {
    const problem = 'its last line is not its checksum';
    report.damage({ path, position: bodyBytes, problem, meaning });
    return undefined;
  }
  if (stored === sumOf(body)) return body.toString();
  checkStored(path, { body, bodyAt: 0, stored, storedAt }, report, meaning);
  return undefined;
}

const PLACEMENT =
  'no record is lost: the records of the other log directories count, or what lies here is looked at';
export const MARKER =
  'no record is lost: the last stop counts as a crash of the machine, and every log is checked';

interface Sealed {
  readonly body: Buffer;
  readonly bodyAt: number;
  readonly stored: string;
  readonly storedAt: number;
}

function checkStored(
  path: string,
  { body, bodyAt, stored, storedAt }: Sealed,
  report: InspectionReport,
  meaning: string,
): void {
  const position = wrongPosition(body, stored, storedAt - bodyAt) + bodyAt;
  const problem = `its checksum is ${sumOf(body)}, it says ${stored}`;
  report.damage({ path, position, problem, meaning });
}

/** From the beginning of `body`; the sum stands at `storedAt` from there, which may be before it. */
function wrongPosition(body: Buffer, stored: string, storedAt: number): number {
  const actual = sumOf(body);
  if (differingDigits(stored, actual) === 1) return storedAt + firstDifference(stored, actual);
  return findWrongByte(body, parseInt(stored, 16))?.position ?? 0;
}

function isHexSum(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text);
}

function sumProblem(bytes: Buffer, sums: readonly string[]) {
  for (const sum of sums) {
    const wrong = findWrongByte(bytes, parseInt(sum, 16));
    if (wrong) return { position: wrong.position, problem: 'a byte changed' };
  }
  return { position: 0, problem: `its checksum, ${sumOf(bytes)}, is not in its .crc file` };
}

function sumOf(bytes: Buffer): string {
  return crc32c(bytes).toString(16).padStart(8, '0');
}

function differingDigits(a: string, b: string): number {
  return [...a].filter((digit, i) => digit !== b[i]).length;
}

function firstDifference(a: string, b: string): number {
  const at = [...a].findIndex((char, i) => char !== b[i]);
  return at < 0 ? Math.min(a.length, b.length) : at;
}
