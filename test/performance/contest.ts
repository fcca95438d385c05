/**
 * One comparison: the log against a floor. Both do the same work turn by turn, in changing order, so that what else the
 * machine does meets both; a repeat is so many turns on fresh files. The first repeat warms up and does not count.
 */
import { setImmediate } from 'node:timers/promises';

export interface Contest {
  /** What is compared, for the table. */
  readonly kind: string;
  readonly batchBytes: number;
  begin(): Promise<Repeat>;
  /** After the last repeat. */
  dispose?(): void;
}

export interface Repeat {
  readonly turns: number;
  readonly bytesPerTurn: number;
  /** Milliseconds that the log took; what only prepares is not counted. */
  ours(turn: number): number | Promise<number>;
  floor(turn: number): number | Promise<number>;
  end(): Promise<void>;
}

export interface Outcome {
  readonly kind: string;
  readonly batchBytes: number;
  /** Megabytes (10^6 bytes) per second, medians over the repeats. */
  readonly oursRate: number;
  readonly floorRate: number;
  /** Median, least and greatest over the repeats of: floor's time / ours. */
  readonly ratio: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
}

/** All contests take part in each repeat, one after another. */
export async function holdContests(
  contests: readonly Contest[],
  repeats: number,
  onProgress: (line: string) => void,
): Promise<Outcome[]> {
  const samples = contests.map((): Sample[] => []);
  try {
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      for (const [i, contest] of contests.entries()) {
        const sample = await holdRepeat(contest, repeat);
        if (repeat === 0) continue;
        samples[i]?.push(sample);
        onProgress(`  ${repeat}/${repeats} ${titleOf(contest)}: ${sample.ratio.toFixed(2)}`);
      }
    }
  } finally {
    for (const contest of contests) contest.dispose?.();
  }
  return contests.map((contest, i) => summarize(contest, samples[i] as Sample[]));
}

export function titleOf({ kind, batchBytes }: { kind: string; batchBytes: number }): string {
  const size =
    batchBytes >= 2 ** 20 ? `${batchBytes / 2 ** 20} MiB` : `${batchBytes / 2 ** 10} KiB`;
  return `${kind} ${size}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

interface Sample {
  readonly oursRate: number;
  readonly floorRate: number;
  readonly ratio: number;
}

async function holdRepeat(contest: Contest, number: number): Promise<Sample> {
  const repeat = await contest.begin();
  let oursMs = 0;
  let floorMs = 0;
  try {
    for (let turn = 0; turn < repeat.turns; turn += 1) {
      if ((turn + number) % 2 === 0) {
        oursMs += await repeat.ours(turn);
        floorMs += await repeat.floor(turn);
      } else {
        floorMs += await repeat.floor(turn);
        oursMs += await repeat.ours(turn);
      }
      await setImmediate(); // signals are heard
    }
  } finally {
    await repeat.end();
  }
  const megabytes = (repeat.turns * repeat.bytesPerTurn) / 1e6;
  return {
    oursRate: (megabytes / oursMs) * 1000,
    floorRate: (megabytes / floorMs) * 1000,
    ratio: floorMs / oursMs,
  };
}

function summarize({ kind, batchBytes }: Contest, samples: readonly Sample[]): Outcome {
  const ratios = samples.map((sample) => sample.ratio);
  return {
    kind,
    batchBytes,
    oursRate: median(samples.map((sample) => sample.oursRate)),
    floorRate: median(samples.map((sample) => sample.floorRate)),
    ratio: median(ratios),
    ratioMin: Math.min(...ratios),
    ratioMax: Math.max(...ratios),
  };
}
