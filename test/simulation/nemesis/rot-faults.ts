/**
 * Bits that flip on the disk of one replica, in what is on the device and counts as such: batches below the recovery point
 * that a loss of power would leave, and what lies beside full segments. (What is flipped behind it looks like a torn tail,
 * and is cut like one.) Invariant: another replica that counts has all that is committed, unflipped; `FaultWorld`
 * keeps it so for the faults to come. Each flip is found at the latest when everything is healed. Part of the nemesis' table.
 */
import { batchSizeAt, BATCH_HEADER_BYTES, checkCrc, lastOffsetAt } from '@tributary/record';
import type { PartitionModel } from '../checker/partition-model';
import { pick } from '../seed-plan';
import type { FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

const RECOVERY_POINTS = '/data/recovery-point-offset-checkpoint';
/** Of a full segment, beside its batches. */
const BESIDE = ['.index', '.timeindex', '.seal'];
const READ_BYTES = 64 * 1024;
const MAGIC_AT = 16;
const MAGIC = 2;
/** Places that are looked at before it is given up. */
const TRIES = 8;

interface Replica {
  readonly brokerId: number;
  readonly model: PartitionModel;
}

interface Place extends Replica {
  readonly path: string;
  readonly byte: number;
}

export const rotFaults: readonly FaultKind[] = [
  {
    name: 'bit-rot',
    weight: 22,
    start(world) {
      const place = placeToRot(world);
      if (!place) return undefined;
      const { brokerId, path, byte } = place;
      world.broker(brokerId).disk.flipBit(path, byte, world.integer(8));
      // Nobody may read so far back, of a follower above all.
      world.cluster.clock.setTimer(world.between(20, 2_500), () => scan(world, place));
      return { text: `a bit of byte ${byte} of ${path} flips at broker ${brokerId}` };
    },
  },
];

/** Those that no read has met yet, and that one would meet; each is read meanwhile. */
export function unfoundRot(world: FaultWorld): string[] {
  const { model, plan } = world.parts;
  if (!plan.rots) return [];
  return model.living().flatMap((one) =>
    world.cluster.brokerIds.flatMap((brokerId) => {
      if (!world.isRotten(one, brokerId)) return [];
      scan(world, { model: one, brokerId });
      return isUnknown(world, { model: one, brokerId }) ? [`${one.name} at ${brokerId}`] : [];
    }),
  );
}

function placeToRot(world: FaultWorld): Place | undefined {
  const { plan, model } = world.parts;
  const living = plan.rots ? model.living() : [];
  for (let left = TRIES; left > 0 && living.length > 0; left -= 1) {
    const one = pick(world.random, living);
    const choices = [...one.replicas.keys()];
    if (choices.length === 0) continue;
    const leader = one.stored?.leader ?? -1;
    const isLeader = choices.includes(leader) && world.chance(0.4);
    const replica = { model: one, brokerId: isLeader ? leader : pick(world.random, choices) };
    if (!world.mayRot(one, replica.brokerId)) continue;
    const place = world.chance(0.8) ? inBatch(world, replica) : besideBatches(world, replica);
    if (place) return place;
  }
  return undefined;
}

function inBatch(world: FaultWorld, replica: Replica): Place | undefined {
  const { disk } = world.broker(replica.brokerId);
  const directory = directoryOf(replica);
  const point = recoveryPoint(world, replica);
  const batches = disk
    .list(directory)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => {
      const path = `${directory}/${name}`;
      return batchesOf(disk.synced(path), point).map((batch) => ({ ...batch, path }));
    });
  if (batches.length === 0) return undefined;
  const { path, position, bytes } = pick(world.random, batches);
  const within = world.chance(0.4) ? BATCH_HEADER_BYTES : bytes;
  return { ...replica, path, byte: position + world.integer(within) };
}

function besideBatches(world: FaultWorld, replica: Replica): Place | undefined {
  const { disk } = world.broker(replica.brokerId);
  const directory = directoryOf(replica);
  const logs = disk.list(directory).filter((name) => name.endsWith('.log'));
  const point = recoveryPoint(world, replica);
  const full = logs.slice(0, -1).filter((_, at) => Number.parseInt(logs[at + 1]!, 10) <= point);
  const paths = full
    .flatMap((log) => BESIDE.map((end) => `${directory}/${log.replace('.log', end)}`))
    .filter((path) => disk.exists(path) && disk.synced(path).length === disk.fileSize(path));
  const filled = paths.filter((path) => disk.fileSize(path) > 0);
  if (filled.length === 0) return undefined;
  const path = pick(world.random, filled);
  return { ...replica, path, byte: world.integer(disk.fileSize(path)) };
}

/** What the next start will take for on the device, whether the power fails or not. */
function recoveryPoint(world: FaultWorld, { brokerId, model }: Replica): number {
  const { disk } = world.broker(brokerId);
  if (!disk.exists(RECOVERY_POINTS)) return 0;
  const texts = [disk.written(RECOVERY_POINTS), disk.synced(RECOVERY_POINTS)].map(String);
  const line = new RegExp(`^${model.topic.topic} ${model.partition} (\\d+)$`, 'm');
  return Math.min(...texts.map((text) => Number(line.exec(text)?.[1] ?? 0)));
}

interface BatchBytes {
  readonly position: number;
  readonly bytes: number;
}

/** Those that end below `point`, which are whole; behind them may be anything. */
function batchesOf(file: Buffer, point: number): BatchBytes[] {
  const found: BatchBytes[] = [];
  for (let position = 0; position + BATCH_HEADER_BYTES <= file.length;) {
    if (file[position + MAGIC_AT] !== MAGIC || lastOffsetAt(file, position) >= point) break;
    const bytes = batchSizeAt(file, position) ?? Infinity;
    if (!checkCrc(file.subarray(position, position + bytes))) break;
    found.push({ position, bytes });
    position += bytes;
  }
  return found;
}

function isUnknown(world: FaultWorld, { brokerId, model }: Replica): boolean {
  const { logs } = world.broker(brokerId);
  const log = logs?.get(model.topic.topicId, model.partition);
  return !logs || (log !== undefined && !log.failure);
}

/** Reads all of the replica, as a follower that is filled, or a compaction, does. */
function scan(world: FaultWorld, { brokerId, model }: Replica): void {
  const log = world.broker(brokerId).logs?.get(model.topic.topicId, model.partition);
  if (!log || log.failure || model.isOver) return;
  const readOn = async (): Promise<void> => {
    for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
      const batches = await log.readAsync(offset, READ_BYTES, log.logEndOffset);
      if (batches.length === 0) return;
      offset = endOf(batches);
    }
  };
  // Found, or closed meanwhile: the broker was told by the log itself.
  readOn().catch(() => undefined);
}

function endOf(batches: Buffer): number {
  let end = 0;
  for (let at = 0; at < batches.length;) {
    end = lastOffsetAt(batches, at) + 1;
    at += batchSizeAt(batches, at) ?? batches.length;
  }
  return end;
}

function directoryOf({ model }: Replica): string {
  return `/data/${model.name}`;
}
