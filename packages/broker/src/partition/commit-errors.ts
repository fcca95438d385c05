/**
 * Why a produce request could not be answered with success although the batch is in the leader's log: all of these are
 * 'maybe written'. Called by `AckWaiters`.
 */
import { TributaryError } from '@tributary/common';
import { isUnderMinIsr, maximalIsrSize, ownEnd } from './in-sync-replicas';
import type { LeaderState, PartitionState } from './partition-state';

const outcome = 'maybe written';

/** The HW is there, but fewer replicas than asked for have it; undefined: enough have. */
export function shortOfReplicas(name: string, state: PartitionState): TributaryError | undefined {
  if (state.role !== 'leader') return undefined;
  if (maximalIsrSize(state) >= state.settings.minInsyncReplicas) return undefined;
  const message = `${name}: ${underMinIsr(state)}`;
  return new TributaryError('NOT_ENOUGH_REPLICAS_AFTER_APPEND', message, { outcome });
}

export function notCommitted(
  name: string,
  state: PartitionState,
  waited: { readonly offset: number; readonly timeoutMs: number },
): TributaryError {
  const { offset, timeoutMs } = waited;
  const why = whyNotCommitted(state, offset);
  const message = `${name}: offset ${offset - 1} was not committed within ${timeoutMs} ms, ${why}`;
  return new TributaryError('TIMEOUT', message, { outcome });
}

function whyNotCommitted(state: PartitionState, offset: number): string {
  if (state.role === 'leader' && isUnderMinIsr(state)) return underMinIsr(state);
  if (state.role === 'leader' && ownEnd(state) < offset) return notOnDevice(state);
  return `the high watermark is at ${state.highWatermark}`;
}

/** acks=1 with `flush=sync`. */
export function notDurable(
  name: string,
  state: PartitionState,
  waited: { readonly offset: number; readonly timeoutMs: number },
): TributaryError {
  const { offset, timeoutMs } = waited;
  const why = state.role === 'leader' ? notOnDevice(state) : 'leadership ended';
  const message = `${name}: offset ${offset - 1} was not synced within ${timeoutMs} ms, ${why}`;
  return new TributaryError('TIMEOUT', message, { outcome });
}

function notOnDevice(state: LeaderState): string {
  return `the leader's disk has what is below ${ownEnd(state)} (flush=sync)`;
}

export function leadershipLost(name: string, reason: string): TributaryError {
  const message = `${name}: leadership ended before the record was committed: ${reason}`;
  return new TributaryError('NOT_LEADER', message, { outcome });
}

export function underMinIsr({ isr, settings }: LeaderState): string {
  return `${isr.length} of at least ${settings.minInsyncReplicas} replicas are in sync (${isr.join(', ')})`;
}
