/** All measures of the log, what is expected of each, and the report. Called by the bench. */
import type { LogArguments, LogMeasure } from '../arguments';
import { holdContests, titleOf, type Contest, type Outcome } from '../contest';
import type { ScratchDirectory } from '../scratch-directory';
import { appendContest } from './append-contest';
import { benchOpen, type OpenOutcome } from './open-bench';
import { coldReadContest, tailReadContest } from './read-contest';
import { recoveryContest } from './recovery-contest';
import { syncContest } from './sync-contest';

const BATCH_BYTES = [64 * 2 ** 10, 2 ** 20];

type RatioMeasure = Exclude<LogMeasure, 'open'>;

const contestsOf: Record<RatioMeasure, (scratch: ScratchDirectory) => Contest[]> = {
  append: (scratch) =>
    BATCH_BYTES.flatMap((bytes) => [
      appendContest(scratch, 'leader', bytes),
      appendContest(scratch, 'follower', bytes),
    ]),
  read: (scratch) =>
    BATCH_BYTES.flatMap((bytes) => [
      coldReadContest(scratch, bytes),
      tailReadContest(scratch, bytes),
    ]),
  sync: (scratch) => BATCH_BYTES.map((bytes) => syncContest(scratch, bytes)),
  recovery: (scratch) => BATCH_BYTES.map((bytes) => recoveryContest(scratch, bytes)),
};

/** Of the floor. */
const wanted: Record<RatioMeasure, number> = { append: 0.8, read: 0.8, sync: 0.7, recovery: 0.6 };
const WANTED_OPEN = 'under 5 s, under 150 MiB';

export type LogSummary = Partial<Record<RatioMeasure, { readonly ratio: number }>> & {
  open?: { readonly seconds: number; readonly mib: number };
};

export interface LogReport {
  readonly table: string;
  /** The worst median of each measure. */
  readonly summary: LogSummary;
}

export async function benchLog(
  scratch: ScratchDirectory,
  { repeats, measures }: LogArguments,
  onProgress: (line: string) => void,
): Promise<LogReport> {
  const lines: string[] = [row('measure', 'MB/s', 'floor', 'ratio', 'from-to', 'wanted')];
  const summary: LogSummary = {};
  for (const measure of measures) {
    onProgress(`${measure} ...`);
    if (measure === 'open') {
      const outcome = await benchOpen(scratch, repeats, onProgress);
      summary.open = { seconds: rounded(outcome.seconds), mib: rounded(outcome.mib) };
      lines.push(openLine(outcome));
      continue;
    }
    const outcomes = await holdContests(contestsOf[measure](scratch), repeats, onProgress);
    summary[measure] = { ratio: rounded(Math.min(...outcomes.map((outcome) => outcome.ratio))) };
    lines.push(...outcomes.map((outcome) => ratioLine(outcome, wanted[measure])));
  }
  return { table: `${lines.join('\n')}\n`, summary };
}

function ratioLine(outcome: Outcome, least: number): string {
  return row(
    titleOf(outcome),
    outcome.oursRate.toFixed(0),
    outcome.floorRate.toFixed(0),
    outcome.ratio.toFixed(2),
    `${outcome.ratioMin.toFixed(2)}-${outcome.ratioMax.toFixed(2)}`,
    `${least}`,
  );
}

function openLine({ partitions, seconds, mib, processSeconds }: OpenOutcome): string {
  const measured =
    `open ${partitions} clean partitions: ${seconds.toFixed(2)} s ` +
    `(${processSeconds.toFixed(2)} s since the process began), largest resident set ${mib.toFixed(0)} MiB`;
  return `${measured}; wanted ${WANTED_OPEN}`;
}

const WIDTHS = [30, 8, 8, 7, 12, 7];

function row(...cells: readonly string[]): string {
  return cells
    .map((cell, i) => (i === 0 ? cell.padEnd(WIDTHS[i] ?? 0) : cell.padStart(WIDTHS[i] ?? 0)))
    .join('');
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
