/** The error for received bytes that are no such message. Called by every codec. */
import { TributaryError } from '@tributary/common';

export function undecodable(messageName: string, thrown: unknown): TributaryError {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new TributaryError('INVALID_ARGUMENT', `the bytes are not a ${messageName}: ${why}`, {
    cause: thrown,
  });
}
