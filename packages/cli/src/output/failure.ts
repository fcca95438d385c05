/**
 * The end of a command that failed: what happened, why, what to do, and an exit code that scripts can rely
 * on (docs/cli.md). With `-o json` the same as one JSON object. Always on stderr.
 */
import { errorCodes, TributaryError } from '@tributary/common';

export interface FailureStyle {
  readonly json: boolean;
  /** Adds the chain of causes and stacks. */
  readonly debug: boolean;
}

export function exitCodeOf(thrown: unknown): number {
  return errorCodes[TributaryError.from(thrown).code].exitCode;
}

export function renderFailure(thrown: unknown, style: FailureStyle): string {
  const error = TributaryError.from(thrown);
  if (style.json) return `${JSON.stringify({ error: error.toJSON() })}\n`;
  // That a failure wrote nothing is what everybody expects of it.
  const unexpected = error.outcome !== undefined && error.outcome !== 'not written';
  const outcome = unexpected ? ` (${error.outcome})` : '';
  const lines = [`error: ${error.message}${outcome}`, `hint: ${error.hint}`, `code=${error.code}`];
  if (style.debug) lines.push(...causes(error));
  return `${lines.join('\n')}\n`;
}

function causes(error: Error): string[] {
  const lines: string[] = [];
  let current: unknown = error;
  for (let depth = 0; current instanceof Error && depth < 10; depth += 1) {
    lines.push(current.stack ?? String(current));
    current = current.cause;
  }
  return lines;
}
