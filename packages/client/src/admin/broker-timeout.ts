/** How long a broker may work on a call that it waits with. Called by the admin's calls. */
import type { Deadline } from '@tributary/common';

/** The broker's own wait ends this much earlier, so that its answer says what is still missing. */
const ANSWER_MARGIN_MS = 500;

export function brokerTimeout(deadline: Deadline): number {
  const { remainingMs } = deadline;
  return Math.floor(Math.max(remainingMs / 2, remainingMs - ANSWER_MARGIN_MS));
}
