/**
 * The one line that a process says when it cannot start or cannot go on: what, why, what to do, and the code.
 * Exit codes are those of the error codes. Called by the entry points alone.
 */
import { errorCodes, TributaryError } from '@tributary/common';

export function fatalLine(who: string, thrown: unknown): string {
  const error = TributaryError.from(thrown);
  const what = sentence(`${who}: ${error.message}`);
  return `${what} ${sentence(error.hint)} code=${error.code}`.replace(/\s*[\r\n]+\s*/g, ' ');
}

export function exitCodeOf(thrown: unknown): number {
  return errorCodes[TributaryError.from(thrown).code].exitCode;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
