/** What one chaos run comes to: as JSON, and as input of the report. */
import type { Verdict } from '@tributary/testkit';
import type { Judgement } from './judge';
import type { LeaderSpan } from './watch/cluster-watch';
import type { FaultSpan, TimelineEvent } from './watch/timeline';

export interface RunResult extends Omit<Verdict, 'examples'> {
  readonly scenario: string;
  readonly target?: string;
  readonly from?: string;
  readonly seed: number;
  readonly seconds: number;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly network: string;
  readonly clean: boolean;
  readonly violations: readonly string[];
  /** Longest that a write waited for its answer from the first fault on, of the worst partition. */
  readonly unavailableMs: number;
  /** Of the partitions that waited longest: when the write was sent, and how long it waited. */
  readonly longestWaits: readonly { partition: number; atMs: number; ms: number }[];
  /** From the end of the last fault until every partition was led and in full ISR. */
  readonly recoveredMs: number;
  /** Failures that the application was told (acks=all, readers, group). */
  readonly errors: number;
  readonly errorTexts: readonly string[];
  readonly elections: number;
  /** Longest stall of the runner itself, which is in every other time. */
  readonly runnerStallMs: number;
  readonly more: Judgement['more'];
  readonly timeline: readonly TimelineEvent[];
}

/** Beside the result, for the page. */
export interface RunPicture {
  readonly result: RunResult;
  readonly faults: readonly FaultSpan[];
  /** Records acknowledged in each 100 ms since the load began. */
  readonly acknowledged: readonly number[];
  readonly bands: readonly (readonly LeaderSpan[])[];
}

export const BUCKET_MS = 100;
