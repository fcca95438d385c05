/**
 * Which partitions of a stream get a mark now, so that the leader goes on knowing that its followers are caught up. Pure.
 * Where nothing happens, and the follower is in the ISR and said that it has it all, seldom is enough: the time since it was
 * last seen to be caught up stays a quarter of what it may be. Those go together, so that one message does for all of them.
 * Called by `LeaderStream` at every mark interval.
 */
import type { DataLimits } from './data-limits';
import type { LeaderAttach } from './leader-attach';

type Markable = Pick<LeaderAttach, 'lastMarkAt' | 'isQuiet'>;
type Pace = Pick<DataLimits, 'markIntervalMs' | 'replicaLagTimeMaxMs'>;

/** Of the time after which a silent follower leaves the ISR. */
const QUIET_SHARE = 1 / 4;
/** A timer that is a little early must not make it every second one. */
const EARLY = 0.9;

export function marksDue<One extends Markable>(
  attaches: readonly One[],
  now: number,
  { markIntervalMs, replicaLagTimeMaxMs }: Pace,
): One[] {
  const since = now - markIntervalMs * EARLY;
  // By the next look it would be too late.
  const quietMs = replicaLagTimeMaxMs * QUIET_SHARE - markIntervalMs;
  const quietSince = Math.min(since, now - quietMs);
  const quiet = new Set(attaches.filter((one) => one.isQuiet));
  const isTime = [...quiet].some((one) => one.lastMarkAt <= quietSince);
  return attaches.filter((one) => one.lastMarkAt <= since && (isTime || !quiet.has(one)));
}
