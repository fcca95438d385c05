/**
 * `--wait`: looks again and again until it is done, and says each time that something changed. Each look is bounded by
 * the time limit of a call, the wait is not: Ctrl-C ends it, what it waits for goes on. Called by the commands.
 */
import { sleep, systemClock } from '@tributary/common';

/** Between two looks. */
const LOOK_EVERY_MS = 500;

export interface Progress {
  readonly done: boolean;
  /** One line each. */
  readonly lines: readonly string[];
}

export async function waitUntilDone(look: () => Promise<Progress>): Promise<void> {
  let before = '';
  for (;;) {
    const { done, lines } = await look();
    const text = lines.map((line) => `${line}\n`).join('');
    if (text !== before) process.stderr.write(text);
    before = text;
    if (done) return;
    await sleep(systemClock, LOOK_EVERY_MS);
  }
}
