/**
 * What a broker thinks of the controller that it follows, as a state machine: when may that controller be replaced before
 * its session in the coordinator ends?
 *
 *   idle --followed--> trusting --lost--> probing --unreachable--> polling --confirmed--> delaying
 *                         ^                  ^  \                     |                      |
 *                         |                  |   `--reached, doubted--+-- unconfirmed     elapsed
 *                       heard             elapsed                     v                      v
 *                  (from everywhere          `------------------- pausing <--settled--- preempting
 *                   but preempting)
 *
 * probing: its own dial of that controller is under way. polling: the others are asked. delaying: a majority confirmed;
 * a random delay against duels. pausing: it is not (yet) known to be lost, and not heard either; look again later.
 * Total: `nextSuspicion` answers for every pair. Entering a phase starts its work; called by `Preemption`.
 */
export type Suspicion =
  'idle' | 'trusting' | 'probing' | 'polling' | 'delaying' | 'preempting' | 'pausing';

/**
 * `followed`: another broker is in office, under a reign that is new here. `unfollowed`: nobody is, or this broker, or it
 * is not registered. `heard`: a stream of that reign, or of a later one, is up and not silent. `lost`: it broke or fell
 * silent. `doubted`: what was seen does not count (this process stood still, the registry could not be read).
 */
export type SuspicionEvent =
  | 'followed'
  | 'unfollowed'
  | 'heard'
  | 'lost'
  | 'reached'
  | 'unreachable'
  | 'doubted'
  | 'confirmed'
  | 'unconfirmed'
  | 'elapsed'
  | 'settled';

/** What moves a phase; everything else leaves it as it is. `followed` and `unfollowed` move every one. */
const transitions: Readonly<
  Record<Suspicion, Readonly<Partial<Record<SuspicionEvent, Suspicion>>>>
> = {
  idle: {},
  trusting: { lost: 'probing' },
  probing: { heard: 'trusting', reached: 'pausing', doubted: 'pausing', unreachable: 'polling' },
  polling: { heard: 'trusting', unconfirmed: 'pausing', doubted: 'pausing', confirmed: 'delaying' },
  delaying: { heard: 'trusting', doubted: 'pausing', elapsed: 'preempting' },
  // Its multi is on its way and cannot be called back; the fences decide.
  preempting: { settled: 'pausing' },
  pausing: { heard: 'trusting', elapsed: 'probing' },
};

export function nextSuspicion(suspicion: Suspicion, event: SuspicionEvent): Suspicion {
  if (event === 'followed') return 'trusting';
  if (event === 'unfollowed') return 'idle';
  return transitions[suspicion][event] ?? suspicion;
}
