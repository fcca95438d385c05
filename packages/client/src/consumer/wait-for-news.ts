/** Waiting for a reader, with an AbortSignal: one listener per wait, taken away afterwards. */
import type { Reader } from './reader';

/** Resolves at the next news, or when the signal aborts: the caller looks which. */
export async function waitForNews(reader: Reader, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return reader.whenNews();
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    signal.addEventListener('abort', onAbort, { once: true });
  });
  await Promise.race([reader.whenNews(), aborted]);
  signal.removeEventListener('abort', onAbort);
}
