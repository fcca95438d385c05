/**
 * Looks at what one log of a running broker gives out (R10), and at what compaction leaves in it (C10), in the moment it
 * happens. What runs on in a dead process is not judged. Called by LifeChecker for each log that is opened or made.
 */
import type { Log, PartitionLog } from '@tributary/log';
import { judgeKeys, lastOfKeys } from './compacted-keys';
import type { PartitionModel } from './partition-model';

export interface WatchedLog {
  readonly model: PartitionModel;
  readonly brokerId: number;
  readonly log: PartitionLog;
  readonly alive: () => boolean;
}

/** Followers and consumers get what these give. */
export function watchReads({ model, brokerId, log, alive }: WatchedLog): void {
  const served = (batches: Buffer): Buffer => {
    if (alive() && !model.isOver) model.served(brokerId, batches);
    return batches;
  };
  const read = log.read.bind(log);
  log.read = (...request) => served(read(...request));
  const readAsync = log.readAsync.bind(log);
  log.readAsync = async (...request) => served(await readAsync(...request));
}

/** @param onRemoved after each pass that removed records */
export function watchCompaction(watched: WatchedLog, onRemoved: () => void): void {
  const { model, alive } = watched;
  const { compaction } = watched.log as Log;
  const run = compaction.run.bind(compaction);
  compaction.run = async (options) => {
    const result = await run(options);
    if (alive() && result && result.recordsDropped > 0 && !model.isOver) {
      onRemoved();
      judgePass(watched);
    }
    return result;
  };
}

function judgePass({ model, brokerId, log }: WatchedLog): void {
  const last = lastOfKeys(model.replica(brokerId).log.marks);
  try {
    judgeKeys(model, brokerId, { log, last });
  } catch (thrown) {
    // Damaged: nobody is served from it.
    if (!log.failure) throw thrown;
  }
}
