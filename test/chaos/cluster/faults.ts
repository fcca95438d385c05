/**
 * What a broker of a chaos run may suffer inside: a slow or full disk, a wall clock that is off. Written into a file by
 * the runner, read by the broker (`faulty-broker.ts`) at its start and on every SIGUSR2.
 */
import { readFileSync, writeFileSync } from 'node:fs';

export interface BrokerFaults {
  /** Every append blocks for so long, as a write does that the kernel throttles. */
  readonly appendDelayMs: number;
  /** Every sync of a file or a directory takes so much longer. */
  readonly syncDelayMs: number;
  readonly readDelayMs: number;
  readonly diskFull: boolean;
  /** Added to the wall clock. */
  readonly clockOffsetMs: number;
}

export const noFaults: BrokerFaults = {
  appendDelayMs: 0,
  syncDelayMs: 0,
  readDelayMs: 0,
  diskFull: false,
  clockOffsetMs: 0,
};

/** The environment variable that names the file. */
export const FAULTS_FILE = 'CHAOS_FAULTS_FILE';

export function writeFaults(file: string, faults: Partial<BrokerFaults>): void {
  writeFileSync(file, JSON.stringify({ ...noFaults, ...faults }));
}

export function readFaults(file: string): BrokerFaults {
  try {
    return { ...noFaults, ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<BrokerFaults>) };
  } catch {
    return noFaults; // none was ever injected
  }
}
