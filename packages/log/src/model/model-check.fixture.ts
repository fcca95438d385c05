/**
 * Holds a log against its model. Compaction may have taken what a later record of the same key supersedes, and tombstones that
 * had their time; everything else must be there, and nothing that the model does not have. Called by the model test.
 */
import { readBatchHeader } from '@tributary/record';
import type { Random } from '@tributary/common';
import { DELETE_RETENTION_MS } from './model-action.fixture';
import { epochsFrom, type ModelEpoch, type ModelLog, type ModelRecord } from './model-log.fixture';
import type { FoundRecord, ModelMachine } from './model-machine.fixture';

/** What is wrong, for people; undefined: nothing. From `start` on. */
export function recordsProblem(
  model: ModelLog,
  found: readonly FoundRecord[],
  { start, now }: { readonly start: number; readonly now: number },
): string | undefined {
  const epochAt = new Map(model.batches.flatMap(({ records, epoch }) => records.map(({ offset }) => [offset, epoch]))); // prettier-ignore
  const expected = new Map(model.records.map((record) => [record.offset, record]));
  for (const record of found) {
    const wanted = expected.get(record.offset);
    if (!wanted || !isSame(wanted, record) || record.epoch !== epochAt.get(record.offset)) {
      return `found ${JSON.stringify(record)}, expected ${JSON.stringify(wanted)}`;
    }
  }
  const there = new Set(found.map(({ offset }) => offset));
  const { passedTo } = model;
  const lastOfKey = new Map(
    model.records.filter(({ offset }) => offset < passedTo).map((one) => [one.key, one.offset]),
  );
  const missing = model.records.find((record) => {
    if (record.offset < start || there.has(record.offset)) return false;
    if (record.offset >= passedTo) return true;
    return lastOfKey.get(record.key) === record.offset && !isOverTombstone(model, record, now);
  });
  return missing && `${JSON.stringify(missing)} is missing, compacted up to ${passedTo}`;
}

function isSame(a: ModelRecord, b: ModelRecord): boolean {
  return a.key === b.key && a.value === b.value && a.timestamp === b.timestamp;
}

function isOverTombstone(
  { passes }: ModelLog,
  { offset, value }: ModelRecord,
  now: number,
): boolean {
  const passed = passes.find(({ to }) => to > offset);
  return value === null && passed !== undefined && now - passed.at >= DELETE_RETENTION_MS;
}

/** Everything that can be seen of a log while it is open. */
export function check(machine: ModelMachine, model: ModelLog, random: Random): void {
  const { log, config } = machine;
  expect(log.failure).toBeUndefined();
  expect([log.logStartOffset, log.logEndOffset]).toEqual([model.start, model.end]);
  const { batches, records } = machine.found();
  const now = machine.clock.wallTime();
  expect(recordsProblem(model, records, { start: model.start, now })).toBeUndefined();
  checkEpochs(machine, model);
  expect(producersOf(machine)).toEqual([...model.producers.values()].sort(byId));
  expect(log.sizeBytes).toBe(machine.logFileBytes);
  expect(log.durableEndOffset).toBeLessThanOrEqual(model.end);
  if (config.flush === 'sync') expect(log.durableEndOffset).toBe(model.end);
  checkTimes(machine, records, random);
  checkRead(machine, batches, random);
}

function checkEpochs({ log }: ModelMachine, model: ModelLog): void {
  const { epochs } = log['state'];
  const { start, end, writtenEpoch } = model;
  // From the first batch on: an epoch may begin with it, or with what was deleted before it.
  const from = Math.max(start, model.batches.find(({ last }) => last >= start)?.base ?? start);
  // Of a log without a record, a cut may take the epoch that covers what was deleted, or leave it.
  const isSeen = ({ epoch }: ModelEpoch): boolean => start < end || epoch > writtenEpoch;
  const expected = epochsFrom(model.epochs, from).filter(isSeen);
  expect(epochsFrom(epochs.entries, from).filter(isSeen)).toEqual(expected);
  if (expected.length > 0) expect(log.latestEpoch).toBe(model.latestEpoch);
  expect(log.lastBatchEpoch).toBe(start === end ? -1 : model.writtenEpoch);
}

/** In the order of their ids, without what the log remembers of times. */
export function producersOf({ log }: ModelMachine) {
  return [...log['state'].producers.states.entries]
    .map(({ batches, ...producer }) => ({
      ...producer,
      batches: batches.map(({ timestamp: _, ...batch }) => batch),
    }))
    .sort(byId);
}

function byId(a: { readonly producerId: number }, b: { readonly producerId: number }): number {
  return a.producerId - b.producerId;
}

function checkTimes({ log }: ModelMachine, found: readonly FoundRecord[], random: Random): void {
  const below = random.next() < 0.5 ? Infinity : offsetWithin(log, random);
  const seen = found.filter(({ offset }) => offset < below);
  const some = found[Math.floor(random.next() * found.length)]?.timestamp ?? 0;
  const timestamp = some + Math.floor(random.next() * 3) - 1;
  const first = seen.find((record) => record.timestamp >= timestamp);
  expect(log.offsetForTimestamp(timestamp, below)).toEqual(first && placeOf(first));
  const latest = Math.max(...seen.map((record) => record.timestamp));
  const last = seen.find((record) => record.timestamp === latest);
  expect(log.maxTimestamp(below)).toEqual(last && placeOf(last));
}

function placeOf({ offset, timestamp }: FoundRecord): object {
  return { offset, timestamp };
}

function offsetWithin(
  log: { readonly logStartOffset: number; readonly logEndOffset: number },
  random: Random,
): number {
  const { logStartOffset: start, logEndOffset: end } = log;
  return start + Math.floor(random.next() * (end - start + 1));
}

/** One read stays within a segment, so it may give less than there is, but never nothing instead of something. */
function checkRead({ log }: ModelMachine, batches: readonly Buffer[], random: Random): void {
  const offset = offsetWithin(log, random);
  const below = offsetWithin(log, random) + 1;
  const ahead = batches.filter((batch) => readBatchHeader(batch).lastOffset >= offset);
  const beyond = ahead.findIndex((batch) => readBatchHeader(batch).lastOffset >= below);
  const expected = Buffer.concat(beyond < 0 ? ahead : ahead.slice(0, beyond));
  const given = log.read(offset, 500, below);
  expect(expected.subarray(0, given.length).equals(given)).toBe(true);
  expect(given.length > 0).toBe(expected.length > 0);
}
