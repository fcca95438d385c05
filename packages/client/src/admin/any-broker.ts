/**
 * One call to whichever broker answers. Invariant: a write is repeated only where the broker did certainly not
 * take it, or where doing it twice is doing it once; a lost answer is told as 'maybe written'. Called by the admin.
 */
import { backoffMs, sleep, TributaryError, type Deadline, type ErrorCode } from '@tributary/common';
import type { UnaryMethod } from '@tributary/protocol';
import type { ClientContext } from '../seams';

/** One broker may take this long with a question before another one is asked. */
export const QUESTION_ATTEMPT_MS = 3_000;
/** Brokers tried before the caller is told; each is another one. */
export const MAX_ATTEMPTS = 6;

/**
 * question: changes nothing. write: done twice it is another thing, or an error. repeatable: a write that sets what
 * shall be, whatever was before.
 */
export type CallKind = 'question' | 'write' | 'repeatable';

/** The broker refused before it did anything. */
const NOTHING_DONE: ReadonlySet<ErrorCode> = new Set([
  'NOT_CONTROLLER',
  'OVERLOADED',
  'BROKER_MISMATCH',
]);

/** Nobody has said no: another broker may get through. */
const LOST: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'TIMEOUT']);

export async function askAnyBroker<Input, Request, ResponseInput, Response>(
  context: ClientContext,
  method: UnaryMethod<Input, Request, ResponseInput, Response>,
  request: Input,
  deadline: Deadline,
  kind: CallKind,
): Promise<Response> {
  let maybeDone = false;
  for (let attempt = 0; ; attempt += 1) {
    const { remainingMs } = deadline;
    // Whoever stands still leaves time for another one.
    const timeoutMs =
      kind === 'question' ? Math.min(QUESTION_ATTEMPT_MS, remainingMs / 2) : remainingMs;
    let isSent = false;
    try {
      deadline.check(`calling ${method.path}`);
      const broker = await context.metadata.anyBroker(attempt, deadline);
      isSent = true;
      return await context.connections.to(broker).call(method, request, {
        timeoutMs: Math.max(1, timeoutMs),
        ...(deadline.signal ? { signal: deadline.signal } : {}),
      });
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      maybeDone ||= isSent && isUnclear(error);
      const waitMs = backoffMs(attempt, context.random);
      const last = attempt + 1 >= MAX_ATTEMPTS || waitMs >= deadline.remainingMs;
      const again = isSent ? mayRepeat(error, kind) : error.retriable;
      if (last || !again) throw kind === 'question' ? error : withFate(error, maybeDone);
      await sleep(context.clock, waitMs, deadline.signal);
    }
  }
}

function mayRepeat(error: TributaryError, kind: CallKind): boolean {
  if (kind === 'question') return error.retriable;
  if (NOTHING_DONE.has(error.code) || error.details['refused'] === true) return true;
  if (LOST.has(error.code) && error.outcome === 'not written') return true;
  // Known to be done: only the view of it is late.
  return kind === 'repeatable' && LOST.has(error.code) && error.outcome !== 'written';
}

function isUnclear({ code, outcome, details }: TributaryError): boolean {
  if (outcome !== undefined) return outcome === 'maybe written';
  return (LOST.has(code) || code === 'CANCELLED') && details['refused'] !== true;
}

/** Where nothing is in doubt, what a broker said stands. */
function withFate(error: TributaryError, maybeDone: boolean): TributaryError {
  if (error.outcome === 'written') return error;
  return error.withOutcome(maybeDone ? 'maybe written' : 'not written');
}
