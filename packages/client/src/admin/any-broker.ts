/**
 * One call to whichever broker answers. Invariant: a write is repeated only where the broker did certainly not
 * take it; a lost answer is told as 'maybe written'. Called by the admin.
 */
import { backoffMs, sleep, TributaryError, type Deadline, type ErrorCode } from '@tributary/common';
import type { UnaryMethod } from '@tributary/protocol';
import type { ClientContext } from '../seams';

/** One broker may take this long with a question before another one is asked. */
export const QUESTION_ATTEMPT_MS = 3_000;
/** Brokers tried before the caller is told; each is another one. */
export const MAX_ATTEMPTS = 6;

/** The broker refused before it did anything. */
const NOTHING_DONE: ReadonlySet<ErrorCode> = new Set([
  'NOT_CONTROLLER',
  'OVERLOADED',
  'BROKER_MISMATCH',
]);

export async function askAnyBroker<Input, Request, ResponseInput, Response>(
  context: ClientContext,
  method: UnaryMethod<Input, Request, ResponseInput, Response>,
  request: Input,
  deadline: Deadline,
  kind: 'question' | 'write',
): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    deadline.check(`calling ${method.path}`);
    const { remainingMs } = deadline;
    const timeoutMs =
      kind === 'question' ? Math.min(QUESTION_ATTEMPT_MS, remainingMs) : remainingMs;
    try {
      const broker = await context.metadata.anyBroker(attempt, deadline);
      return await context.connections.to(broker).call(method, request, {
        timeoutMs: Math.max(1, timeoutMs),
        ...(deadline.signal ? { signal: deadline.signal } : {}),
      });
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      const untouched = NOTHING_DONE.has(error.code) || error.details['refused'] === true;
      const again = kind === 'question' ? error.retriable : untouched;
      const waitMs = backoffMs(attempt, context.random);
      if (!again || attempt + 1 >= MAX_ATTEMPTS || waitMs >= deadline.remainingMs) {
        throw kind === 'write' && isUnclear(error) ? error.withOutcome('maybe written') : error;
      }
      await sleep(context.clock, waitMs, deadline.signal);
    }
  }
}

function isUnclear(error: TributaryError): boolean {
  const lost = error.code === 'UNAVAILABLE' || error.code === 'TIMEOUT';
  return lost && error.outcome === undefined && error.details['refused'] !== true;
}
