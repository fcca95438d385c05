/**
 * What the client library calls back with, as results and errors of the Session port.
 */
import type { MultiOperation, MultiResult } from '../coordinator';
import { nodeStat, type WireStat } from './node-stat';
import { fromZooKeeper } from './zookeeper-errors';

export const noNodeCode = -101;
const CONNECTION_LOSS = -4;
/** Of the parts of a refused multi that were fine themselves. */
const RUNTIME_INCONSISTENCY = -2;

/** One part's, of a multi. */
export interface PartResult {
  readonly type: number;
  readonly err?: number;
  readonly stat?: WireStat;
}

export function codeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}

/** For requests that were still in the library's queue when the connection broke. */
export function notSent(): Error {
  return Object.assign(new Error('not sent'), { code: CONNECTION_LOSS, notSent: true });
}

export function outward(error: unknown, path: string): Error {
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error ? error : new Error(String(error));
  const sent = !(typeof error === 'object' && error !== null && 'notSent' in error);
  return fromZooKeeper(code, path, sent);
}

export function multiResults(
  operations: readonly MultiOperation[],
  parts: readonly PartResult[] | undefined,
): MultiResult[] {
  return operations.map((_, index) => {
    const stat = parts?.[index]?.stat;
    return stat ? { stat: nodeStat(stat) } : {};
  });
}

/** The culprit is the first part that is neither fine nor "would have been fine". */
export function multiRefusal(
  error: unknown,
  operations: readonly MultiOperation[],
  parts: readonly PartResult[] | undefined,
): unknown {
  const isCulprit = ({ err }: PartResult): boolean =>
    err !== undefined && err !== 0 && err !== RUNTIME_INCONSISTENCY;
  const index = parts?.findIndex(isCulprit) ?? -1;
  const code = parts?.[index]?.err;
  if (code === undefined) return error;
  return fromZooKeeper(code, operations[index]?.path ?? '', true, index);
}
