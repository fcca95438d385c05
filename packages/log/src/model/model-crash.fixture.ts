/**
 * What a crash may leave of a log. kill -9: all of it, but for a log start that was not stored. The power: a prefix that holds
 * all that was synced, of this history, or of one before a cut that was not settled. Called by the model test.
 */
import { recordsProblem, producersOf } from './model-check.fixture';
import { ModelLog, type ModelEpoch } from './model-log.fixture';
import type { ModelMachine } from './model-machine.fixture';

export interface Crash {
  readonly losesPower: boolean;
  readonly expected: ModelLog;
  /** See ModelRun. */
  readonly before: readonly ModelLog[];
  readonly maxEpoch: number;
}

/** The model of what is there now. Throws when that cannot be. */
export function afterCrash(machine: ModelMachine, crash: Crash): ModelLog {
  const { log } = machine;
  const { expected, before, losesPower } = crash;
  const { logStartOffset: start, logEndOffset: end } = log;
  expect(end).toBeGreaterThanOrEqual(expected.synced);
  const problems: string[] = [];
  const candidates = losesPower ? [expected, ...before] : [expected];
  for (const candidate of candidates) {
    const found = asFound(machine, candidate, crash);
    if (typeof found !== 'string') return found;
    problems.push(found);
  }
  // Cut to before where it starts, as the checkpoint still has it: it begins anew there.
  const isAnew = [expected, ...before].some(
    (one) => start >= one.storedStart && start <= one.start,
  );
  if (start === end && isAnew) return beganAnew(machine);
  throw new Error(`the log from ${start} to ${end} is none that can be: ${problems.join('; ')}`);
}

/** What is wrong, where it is not this one. */
function asFound(machine: ModelMachine, candidate: ModelLog, crash: Crash): ModelLog | string {
  const { log, clock } = machine;
  const { expected, losesPower } = crash;
  const { logStartOffset: start, logEndOffset: end } = log;
  const found = losesPower ? candidate.prefix(end) : candidate.clone();
  if (found?.end !== end) return `it ends at ${candidate.end}`;
  if (start < found.storedStart || start > found.start) {
    return `it starts at ${found.start}, ${found.storedStart} is stored`;
  }
  // Whether it began anew there cannot be seen.
  if (losesPower && start === end && start > 0) return beganAnew(machine);
  const { records } = machine.found();
  const problem = recordsProblem(found, records, { start, now: clock.wallTime() });
  if (problem !== undefined) return problem;
  found.start = start;
  found.highWatermark = Math.max(start, Math.min(expected.highWatermark, end));
  found.synced = Math.min(expected.synced, end);
  if (losesPower) found.epochs = epochsAfter(log['state'].epochs.entries, found, crash.maxEpoch);
  return found;
}

/**
 * Those of the batches. An epoch that begins at the end may be there, because its batches were lost, or because nobody wrote in
 * it; it must be there if it was assigned last
 * and flushed since.
 */
function epochsAfter(
  entries: readonly ModelEpoch[],
  found: ModelLog,
  maxEpoch: number,
): readonly ModelEpoch[] & ModelEpoch[] {
  const { end, assigned } = found;
  // One that lost its batches to a gap may be gone with a torn file: nobody needs it.
  const needed = new Set([...found.batches, ...entries].map(({ epoch }) => epoch));
  const written = found.epochs.filter(
    ({ epoch, startOffset }) => startOffset < end && needed.has(epoch),
  );
  const writtenEpoch = written.at(-1)?.epoch ?? -1;
  const last = entries.at(-1);
  // Of a log without a record the last one that was written may stand there, too.
  const empty = last?.startOffset === end && last.epoch > writtenEpoch ? [last] : [];
  if (assigned === 'durable' && found.latestEpoch > writtenEpoch) {
    expect(empty).toEqual([found.epochs.at(-1)]);
  }
  for (const { epoch } of empty) expect(epoch).toBeLessThanOrEqual(maxEpoch);
  found.assigned = 'not';
  return [...written, ...empty];
}

function beganAnew(machine: ModelMachine): ModelLog {
  const { log } = machine;
  const anew = new ModelLog();
  anew.restart(log.logStartOffset);
  anew.inherited = producersOf(machine);
  anew.epochs = [...log['state'].epochs.entries];
  return anew;
}
