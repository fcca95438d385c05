/**
 * `--wait`: looks again and again until it is done, and says what is news: a line that was not there before at once, what
 * only its details tell at intervals. Each look is bounded by the time limit of a call, the wait is not: Ctrl-C ends it,
 * what it waits for goes on. Called by the commands.
 */
import { sleep, systemClock, type Clock } from '@tributary/common';

/** Between two looks. */
const LOOK_EVERY_MS = 500;
/** Between two looks whose details are said, of lines that stay. */
const DETAILS_EVERY_MS = 5_000;

export interface Progress {
  readonly done: boolean;
  readonly lines: readonly string[];
  /** Beside the line of the same index: what changes all the time, as counts do. */
  readonly details?: readonly string[];
}

export interface WaitWorld {
  readonly clock: Clock;
  readonly say: (text: string) => void;
}

const terminal: WaitWorld = {
  clock: systemClock,
  say: (text) => void process.stderr.write(text),
};

export async function waitUntilDone(
  look: () => Promise<Progress>,
  { clock, say }: WaitWorld = terminal,
): Promise<void> {
  let said = new Map<string, string>();
  let detailsAt = clock.now();
  for (;;) {
    const { done, lines, details = [] } = await look();
    const isTime = clock.now() - detailsAt >= DETAILS_EVERY_MS;
    if (isTime) detailsAt = clock.now();
    const before = said;
    said = new Map();
    let text = '';
    for (const [index, line] of lines.entries()) {
      const detail = details[index] ?? '';
      const known = before.get(line);
      const isNews = known === undefined || (isTime && known !== detail);
      if (isNews) text += `${line}${detail === '' ? '' : ` (${detail})`}\n`;
      said.set(line, isNews ? detail : known);
    }
    if (text !== '') say(text);
    if (done) return;
    await sleep(clock, LOOK_EVERY_MS);
  }
}
