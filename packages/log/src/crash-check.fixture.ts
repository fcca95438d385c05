/** What a log says after a crash, and what its segment files alone would give. Called by the crash tests of the log. */
import { openTestLog, SimulatedDisk, type SimulatedClock } from '@tributary/testkit';
import type { Log } from './log';
import { GAPS_FILE } from './offset-gaps';
import type { LogConfig } from './partition-log';

const directory = '/data/orders-0';

/** The segment files alone, on an empty disk. */
export async function fromScratch(
  disk: SimulatedDisk,
  log: Log,
  options: { readonly config: LogConfig; readonly clock: SimulatedClock },
): Promise<Log> {
  const bare = new SimulatedDisk();
  bare.makeDirectory(directory);
  for (const { file, size } of log['state'].segments.all) {
    const copy = bare.openFile(file.path, { create: true });
    copy.append([disk.openFile(file.path).read(0, size)]);
    copy.close();
  }
  // It bounds where batches may be missing; the batches alone cannot tell compaction from damage.
  const gaps = `${directory}/${GAPS_FILE}`;
  if (disk.exists(gaps)) {
    const copy = bare.openFile(gaps, { create: true });
    copy.append([disk.openFile(gaps).read(0, disk.fileSize(gaps))]);
    copy.close();
  }
  const { logStartOffset } = log;
  return openTestLog(bare, directory, { ...options, recover: true, logStartOffset });
}

/** What the files around the segments say, and what they answer. */
export function describeLog(log: Log): object {
  const { segments, epochs, producers } = log['state'];
  const end = log.logEndOffset;
  return {
    range: [log.logStartOffset, end],
    indexes: segments.all.map((segment) => {
      segment.load();
      const { offsetIndex } = segment;
      return offsetIndex['bytes'].toString('hex', 0, offsetIndex.count * 8);
    }),
    times: Array.from({ length: 60 }, (_, i) => log.offsetForTimestamp(995 + i, Infinity)),
    latest: log.maxTimestamp(Infinity),
    // An epoch in which nothing was written is in no segment.
    epochs: epochs.entries
      .filter(({ startOffset }) => startOffset < end)
      .map(({ epoch, startOffset }) => [epoch, Math.max(startOffset, log.logStartOffset)]),
    producers: [...producers.states.entries],
  };
}
