/**
 * Leaves no orphan: fires once when the process with the given pid is no longer the parent. Polls, because
 * that works everywhere; a stopped process is the launcher's business (pdeathsig on Linux).
 */
import { systemClock, type Clock } from '@tributary/common';

const POLL_MS = 100;

export function watchParent(
  parentPid: number,
  onGone: () => void,
  clock: Clock = systemClock,
  currentParent: () => number = () => process.ppid,
): void {
  const poll = (): void => {
    if (currentParent() === parentPid) clock.setTimer(POLL_MS, poll, { unref: true });
    else onGone();
  };
  poll();
}
