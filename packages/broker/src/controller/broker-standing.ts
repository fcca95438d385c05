/**
 * What the controller thinks of one broker in one registration (broker epoch), as a state machine.
 *
 *   joining --stream-up--> imaging --acknowledged--> ready <--acknowledged-- reimaging
 *                             ^                        |                        ^
 *                             |                   stream-down                stream-up
 *                          stream-up                   v                        |
 *   failed <---refused, late, stream-down of a      reconnecting ---------------+
 *              registration never trusted is no failure
 *
 * Trusted (ready, reconnecting, reimaging) brokers keep what they lead; only ready ones get more. A broken
 * stream alone moves nothing: its immediate re-dial decides (refused: failed), or silence does (late).
 * Total: `nextStanding` answers for every pair. Called by the controller's step.
 */
export type Standing = 'joining' | 'imaging' | 'ready' | 'reconnecting' | 'reimaging' | 'failed';

/**
 * `refused`: nobody listens there any more, or another life of that broker answered. `late`: no heartbeat
 * for heartbeatTimeoutMs.
 */
export type StandingEvent = 'stream-up' | 'acknowledged' | 'stream-down' | 'refused' | 'late';

const transitions: Readonly<Record<Standing, Readonly<Record<StandingEvent, Standing>>>> = {
  joining: {
    'stream-up': 'imaging',
    acknowledged: 'joining',
    'stream-down': 'joining',
    refused: 'failed',
    late: 'joining',
  },
  imaging: {
    'stream-up': 'imaging',
    acknowledged: 'ready',
    'stream-down': 'joining',
    refused: 'failed',
    late: 'failed',
  },
  ready: {
    'stream-up': 'reimaging',
    acknowledged: 'ready',
    'stream-down': 'reconnecting',
    refused: 'failed',
    late: 'failed',
  },
  reconnecting: {
    'stream-up': 'reimaging',
    acknowledged: 'reconnecting',
    'stream-down': 'reconnecting',
    refused: 'failed',
    late: 'failed',
  },
  reimaging: {
    'stream-up': 'reimaging',
    acknowledged: 'ready',
    'stream-down': 'reconnecting',
    refused: 'failed',
    late: 'failed',
  },
  failed: {
    'stream-up': 'imaging',
    acknowledged: 'failed',
    'stream-down': 'failed',
    refused: 'failed',
    late: 'failed',
  },
};

export function nextStanding(standing: Standing, event: StandingEvent): Standing {
  return transitions[standing][event];
}

/** Keeps its leaderships and its seats in ISRs. */
export function isTrusted(standing: Standing): boolean {
  return standing === 'ready' || standing === 'reconnecting' || standing === 'reimaging';
}

/** Deltas are sent to it. */
export function isLinked(standing: Standing): boolean {
  return standing === 'imaging' || standing === 'ready' || standing === 'reimaging';
}

/** A new controller need not wait for it any longer. */
export function isResolved(standing: Standing): boolean {
  return standing === 'ready' || standing === 'failed';
}
