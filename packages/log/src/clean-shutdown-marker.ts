/**
 * `.kafka_cleanshutdown`: written last when a log directory is closed, and removed, durably, before anything is
 * loaded: otherwise a crash while loading would pass for a clean shutdown (KAFKA-10471).
 */
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';

export const CLEAN_MARKER_FILE = '.kafka_cleanshutdown';

export interface CleanShutdown {
  readonly brokerEpoch: number;
}

export function writeMarker(disk: Disk, directory: string, shutdown: CleanShutdown): Promise<void> {
  const text = JSON.stringify({ version: 0, brokerEpoch: shutdown.brokerEpoch });
  return new DurableTextFile(disk, `${directory}/${CLEAN_MARKER_FILE}`).write(text);
}

/** undefined: the last shutdown was not clean. */
export async function takeMarker(
  disk: Disk,
  directory: string,
): Promise<CleanShutdown | undefined> {
  const path = `${directory}/${CLEAN_MARKER_FILE}`;
  const text = new DurableTextFile(disk, path).read();
  if (text === undefined) return undefined;
  disk.remove(path);
  await disk.syncDirectory(directory);
  return parse(text);
}

function parse(text: string): CleanShutdown | undefined {
  try {
    const { brokerEpoch } = JSON.parse(text) as { brokerEpoch?: unknown };
    return typeof brokerEpoch === 'number' ? { brokerEpoch } : undefined;
  } catch {
    return undefined; // torn: then it was not written before the end
  }
}
