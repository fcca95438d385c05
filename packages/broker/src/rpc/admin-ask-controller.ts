/**
 * The way of a person's wish from the broker that was asked to the controller, and back: asks until there is an answer or
 * the time is over, then waits until this broker's own image shows what was decided. Called by the admin handlers.
 *
 * Invariant: only what may be repeated is asked again after an answer that was lost. All four commands may: settings
 * and duties are set to values, a count of partitions is a total, a move that goes on is not begun anew, an election
 * leaves a leader that is as wanted alone.
 */
import {
  backoffMs,
  Deadline,
  sleep,
  TributaryError,
  type Clock,
  type ErrorCode,
  type Random,
} from '@tributary/common';
import type { CallContext, ControllerAnswer } from '@tributary/protocol';
import type { ControlLimits } from '../control-limits';
import type { MetadataCache } from '../metadata/metadata-cache';
import type { MetadataImage } from '../metadata/metadata-image';
import type { ControllerAccess, ControllerCommand } from '../seams';

export interface CommandOptions {
  readonly controller: ControllerAccess;
  readonly metadata: MetadataCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: ControlLimits;
}

/** Longest wait between two tries while there is no controller. */
const MAX_RETRY_MS = 250;

/** The controller is changing, or this broker's way to it: another one will answer. */
const CHANGING: ReadonlySet<ErrorCode> = new Set([
  'UNAVAILABLE',
  'NOT_CONTROLLER',
  'STALE_CONTROLLER_EPOCH',
  'FENCED_BROKER_EPOCH',
  'TIMEOUT',
]);

export function commandDeadline(
  options: CommandOptions,
  timeoutMs: number,
  context: CallContext,
): Deadline {
  const boundMs = timeoutMs || options.limits.defaultAdminTimeoutMs;
  return Deadline.after(options.clock, boundMs, context.signal);
}

/** Rejects with what the controller refused; where none was reached in time, with that, saying whether it may be done. */
export async function askController(
  options: CommandOptions,
  command: ControllerCommand,
  deadline: Deadline,
): Promise<ControllerAnswer> {
  const { controller, clock, random } = options;
  let maybeDone = false;
  for (let attempt = 0; ; attempt += 1) {
    let failure: TributaryError;
    try {
      const asked = controller.askController(command, Math.max(1, deadline.remainingMs));
      return await deadline.race(asked, 'the controller');
    } catch (thrown) {
      failure = TributaryError.from(thrown);
    }
    maybeDone ||= isUnclear(failure);
    const waitMs = backoffMs(attempt, random, { maxMs: MAX_RETRY_MS });
    if (!CHANGING.has(failure.code) || waitMs >= deadline.remainingMs) {
      throw failure.withOutcome(maybeDone ? 'maybe written' : 'not written');
    }
    await sleep(clock, waitMs, deadline.signal);
  }
}

/** A refusal by the controller says itself what it did. */
function isUnclear({ code, outcome }: TributaryError): boolean {
  if (outcome !== undefined) return outcome !== 'not written';
  return code === 'TIMEOUT' || code === 'CANCELLED';
}

/** It is decided and written: what is late is this broker's view of it. */
export async function untilShown(
  options: CommandOptions,
  shows: (image: MetadataImage) => boolean,
  deadline: Deadline,
  what: string,
): Promise<void> {
  try {
    await options.metadata.waitFor(shows, deadline, `this broker's own view of it`);
  } catch (thrown) {
    const { code, message, cause } = TributaryError.from(thrown);
    throw new TributaryError(code, `${what}, but ${message}`, {
      outcome: 'written',
      hint: 'It is done. Describe it in a moment to see it.',
      cause,
    });
  }
}
