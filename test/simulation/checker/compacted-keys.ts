/**
 * C10, of one replica: compaction has kept the last record of each key, a tombstone counts as one, and every record where it
 * was. Judged after each pass that removed records, against what this replica had, and at the end of a seed, against what
 * is committed. Called by LifeChecker and QuietChecks.
 */
import type { PartitionLog } from '@tributary/log';
import { decodeBatch, splitBatches } from '@tributary/record';
import type { BatchMark } from './marked-log';
import type { PartitionModel } from './partition-model';
import { decodedText, keyText } from './record-text';
import { bytesOf } from './replica-logs';

/** By key, the offset of its last record. */
export function lastOfKeys(marks: readonly BatchMark[]): Map<string, number> {
  const last = new Map<string, number>();
  for (const { bytes } of marks) {
    for (const record of decodeBatch(bytes)) last.set(keyText(record), record.offset);
  }
  return last;
}

/** Throws when the log cannot be read. */
export function judgeKeys(
  model: PartitionModel,
  brokerId: number,
  { log, last }: { readonly log: PartitionLog; readonly last: ReadonlyMap<string, number> },
): void {
  const found = new Set<number>();
  for (const batch of splitBatches(bytesOf(log))) {
    for (const record of decodeBatch(batch)) {
      const { offset } = record;
      found.add(offset);
      const text = decodedText(record);
      if (offset >= model.trueHighWatermark || text === model.values[offset]) continue;
      model.report(
        'C10',
        `broker ${brokerId} has ${text} at ${offset}, not ${model.values[offset]}`,
      );
    }
  }
  for (const [key, offset] of last) {
    if (found.has(offset)) continue;
    model.report('C10', `broker ${brokerId} lost the last record of key ${key}, at ${offset}`);
  }
}
