/**
 * Brokers that failed without saying goodbye: suspects. One that is back must be stable for a while before it leads again
 * where another in-sync replica can, longer with each time; a broker that comes and goes would take its partitions' writes
 * down with it each time. Its seats in ISRs it gets back at once. Part of `step`.
 *
 * Invariants: a probation never leaves a partition without leader (`steadyFirst` only orders candidates); only the timer of
 * the newest round counts; what is remembered lasts for one term of office and is bounded by `maxSuspects`.
 */
import type { ControllerDraft } from './controller-draft';
import type { BrokerState, Suspicion } from './controller-state';

/** Suspects that are remembered; the one suspected least lately goes first. */
export const maxSuspects = 1_000;

/** It failed, or is gone, or another life of it is there. A controlled shutdown is no reason. */
export function suspect(draft: ControllerDraft, broker: BrokerState, why: string): void {
  if (broker.leaving) return;
  const { brokerId } = broker.registration;
  const before = draft.state.suspicions.get(brokerId);
  const flaps = (before?.flaps ?? 0) + 1;
  const suspicions = new Map(draft.state.suspicions);
  suspicions.delete(brokerId);
  suspicions.set(brokerId, { flaps, round: (before?.round ?? 0) + 1, onProbation: true });
  for (const oldest of suspicions.keys()) {
    if (suspicions.size <= maxSuspects) break;
    suspicions.delete(oldest);
  }
  draft.change({ suspicions });
  const now = draft.broker(brokerId);
  if (now && !now.onProbation) draft.setBroker({ ...now, onProbation: true });
  draft.journal(`broker ${brokerId}`, 'suspected', flaps > 1 ? `${why}; time ${flaps}` : why);
}

/** Its stream is up and it has the image: from now on it is watched. */
export function watchSuspect(draft: ControllerDraft, brokerId: number): void {
  const suspicion = draft.state.suspicions.get(brokerId);
  if (!suspicion?.onProbation) return;
  const { probationMs, probationMaxMs } = draft.settings;
  // 2 ** 30 times anything is beyond the longest.
  const delayMs = Math.min(probationMaxMs, probationMs * 2 ** Math.min(30, suspicion.flaps - 1));
  startRound(draft, brokerId, suspicion, delayMs);
  const often = suspicion.flaps === 1 ? 'once' : `${suspicion.flaps} times`;
  draft.journal(`broker ${brokerId}`, `on probation for ${delayMs} ms`, `suspected ${often}`);
}

/** Its stream broke on probation: it was not stable, and begins anew when it is back. */
export function interruptProbation(draft: ControllerDraft, brokerId: number): void {
  const suspicion = draft.state.suspicions.get(brokerId);
  if (suspicion?.onProbation) setSuspicion(draft, brokerId, nextRound(suspicion));
}

/** Nothing happened for as long as was asked: first it may lead again, then it is forgotten. */
export function onSuspectStable(
  draft: ControllerDraft,
  event: { readonly brokerId: number; readonly round: number },
): void {
  const { suspicionMemoryMs } = draft.settings;
  const { brokerId, round } = event;
  const suspicion = draft.state.suspicions.get(brokerId);
  if (suspicion?.round !== round) return;
  if (!suspicion.onProbation) return setSuspicion(draft, brokerId, undefined);
  startRound(draft, brokerId, { ...suspicion, onProbation: false }, suspicionMemoryMs);
  const broker = draft.broker(brokerId);
  if (broker) draft.setBroker({ ...broker, onProbation: false });
  draft.journal(`broker ${brokerId}`, 'no longer on probation', 'it was stable');
}

function startRound(
  draft: ControllerDraft,
  brokerId: number,
  before: Suspicion,
  delayMs: number,
): void {
  const suspicion = nextRound(before);
  setSuspicion(draft, brokerId, suspicion);
  draft.effect({ type: 'watch-suspect', brokerId, round: suspicion.round, delayMs });
}

function nextRound(suspicion: Suspicion): Suspicion {
  return { ...suspicion, round: suspicion.round + 1 };
}

function setSuspicion(
  draft: ControllerDraft,
  brokerId: number,
  suspicion: Suspicion | undefined,
): void {
  const suspicions = new Map(draft.state.suspicions);
  if (suspicion) suspicions.set(brokerId, suspicion);
  else suspicions.delete(brokerId);
  draft.change({ suspicions });
}
