/**
 * `/brokers/topics/T/partitions/P/state`: leader, leader epoch and ISR of each partition, by compare-and-set on the
 * node's version, which is the partition epoch. Written by the controller alone.
 *
 * Invariant: one result per write, in order; a partition that lost its compare-and-set does not hold up others, and a
 * batch whose reply was lost is read back before anything else (multis are all or nothing).
 */
import { hasCode, TributaryError } from '@tributary/common';
import { checkFence, fencedMulti, refusedOperation } from './controller-writes';
import type { Coordinator, MultiOperation, MultiResult, Watch } from './coordinator';
import { replyWasLost } from './coordinator-errors';
import { decodePartitionState, decodeTopic, encodePartitionState, paths } from './layout';
import type {
  ControllerFence,
  PartitionStateStore,
  PartitionStateWrite,
  PartitionStateWriteResult,
  StoredPartitionState,
  VersionedPartitionState,
} from './nouns';

/** Partitions in one multi. A new partition takes up to four operations. */
export const maxStatesPerMulti = 100;
export const maxStateMultisInFlight = 4;
/** Rounds for one batch; each drops a partition that lost, or follows a lost reply. */
const NO_SUCH_VERSION = 2 ** 31 - 1;
const MAX_ROUNDS = maxStatesPerMulti + 20;

export function createPartitionStateStore(coordinator: Coordinator): PartitionStateStore {
  return new CoordinatedPartitionStateStore(coordinator);
}

interface PendingWrite {
  readonly index: number;
  readonly write: PartitionStateWrite;
  readonly data: Buffer;
}

interface PlannedOperation {
  readonly operation: MultiOperation;
  /** Its write; undefined for what several share. */
  readonly pending: PendingWrite | undefined;
  /** The operation is the compare-and-set itself. */
  readonly isState: boolean;
}

class CoordinatedPartitionStateStore implements PartitionStateStore {
  constructor(private readonly coordinator: Coordinator) {}

  async read(topic: string, only?: readonly number[]): Promise<VersionedPartitionState[]> {
    const names = only ?? (await this.coordinator.children(paths.partitions(topic))) ?? [];
    const partitions = names.map(Number).sort((a, b) => a - b);
    const states = await Promise.all(partitions.map((each) => this.readOne(topic, each)));
    return states.filter((state) => state !== undefined);
  }

  watch(
    topic: string,
    partition: number,
    onChange: (state: StoredPartitionState | undefined) => void,
  ): Watch {
    return this.coordinator.watchData(paths.partitionState(topic, partition), (node) =>
      onChange(node && decodePartitionState(topic, partition, node.data)),
    );
  }

  async write(
    fence: ControllerFence,
    writes: readonly PartitionStateWrite[],
  ): Promise<PartitionStateWriteResult[]> {
    const results: PartitionStateWriteResult[] = [];
    const pending = writes.map((write, index) => ({
      index,
      write,
      data: encodePartitionState(write.state),
    }));
    const batches: PendingWrite[][] = [];
    for (let from = 0; from < pending.length; from += maxStatesPerMulti) {
      batches.push(pending.slice(from, from + maxStatesPerMulti));
    }
    const lane = async (): Promise<void> => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        await this.writeBatch(fence, batch, results);
      }
    };
    await Promise.all(Array.from({ length: maxStateMultisInFlight }, lane));
    return results;
  }

  private async writeBatch(
    fence: ControllerFence,
    batch: readonly PendingWrite[],
    results: PartitionStateWriteResult[],
  ): Promise<void> {
    let left = [...batch];
    for (let round = 0; left.length > 0; round += 1) {
      if (round >= MAX_ROUNDS) throw unknownOutcome(undefined);
      const planned = await this.plan(left);
      try {
        const operations = planned.map(({ operation }) => operation);
        const answers = await fencedMulti(this.coordinator, fence, operations);
        settleAll(planned, answers, results);
        return;
      } catch (error) {
        const refused = refusedOperation(error);
        if (refused !== undefined) {
          left = await this.dropLoser(planned[refused], left, results);
        } else if (replyWasLost(error) || hasCode(error, 'SESSION_EXPIRED')) {
          left = await this.readBack(fence, left, results, error);
        } else {
          throw error;
        }
      }
    }
  }

  /** The operations for these writes, after a look at which parents are missing. */
  private async plan(writes: readonly PendingWrite[]): Promise<PlannedOperation[]> {
    const planned: PlannedOperation[] = [];
    const topicsOfNew = new Map<string, Set<number>>();
    for (const pending of writes) {
      const { state, expectedPartitionEpoch: version } = pending.write;
      const path = paths.partitionState(state.topic, state.partition);
      const { data } = pending;
      if (version === undefined) {
        const known = topicsOfNew.get(state.topic) ?? (await this.planTopic(pending, planned));
        topicsOfNew.set(state.topic, known);
        if (!known.has(state.partition)) {
          const parent = paths.partition(state.topic, state.partition);
          const operation = { type: 'create', path: parent, data: Buffer.alloc(0) } as const;
          planned.push({ operation, pending, isState: false });
        }
        planned.push({ operation: { type: 'create', path, data }, pending, isState: true });
      } else {
        planned.push({ operation: { type: 'set', path, data, version }, pending, isState: true });
      }
    }
    return planned;
  }

  /** Answers which partition nodes exist. New states go only into the incarnation that they are meant for. */
  private async planTopic(
    pending: PendingWrite,
    planned: PlannedOperation[],
  ): Promise<Set<number>> {
    const { topic, topicId } = pending.write.state;
    const node = await this.coordinator.get(paths.topic(topic));
    const sameTopic = node !== undefined && decodeTopic(topic, node.data).topicId === topicId;
    // A version that no node has: the write is refused like any other that lost.
    const version = sameTopic ? node.stat.version : NO_SUCH_VERSION;
    planned.push({
      operation: { type: 'check', path: paths.topic(topic), version },
      pending,
      isState: !sameTopic,
    });
    const names = await this.coordinator.children(paths.partitions(topic));
    if (!names) {
      const path = paths.partitions(topic);
      const operation = { type: 'create', path, data: Buffer.alloc(0) } as const;
      planned.push({ operation, pending: undefined, isState: false });
    }
    return new Set((names ?? []).map(Number));
  }

  /** Somebody else wrote this one: it is answered, the others are tried again. */
  private async dropLoser(
    culprit: PlannedOperation | undefined,
    left: readonly PendingWrite[],
    results: PartitionStateWriteResult[],
  ): Promise<PendingWrite[]> {
    // A parent that came or went meanwhile: plan again.
    if (!culprit?.isState || !culprit.pending) return [...left];
    const loser = culprit.pending;
    const { topic, partition } = loser.write.state;
    results[loser.index] = { ok: false, current: await this.readOne(topic, partition) };
    return left.filter((pending) => pending !== loser);
  }

  /** After a lost reply: what is there now tells what happened. What was not written stays to be written. */
  private async readBack(
    fence: ControllerFence,
    left: readonly PendingWrite[],
    results: PartitionStateWriteResult[],
    cause: TributaryError,
  ): Promise<PendingWrite[]> {
    if (cause.code === 'SESSION_EXPIRED') throw unknownOutcome(cause);
    try {
      await checkFence(this.coordinator, fence);
      const again: PendingWrite[] = [];
      for (const pending of left) {
        const { state, expectedPartitionEpoch: before } = pending.write;
        const node = await this.coordinator.get(paths.partitionState(state.topic, state.partition));
        const after = before === undefined ? 0 : before + 1;
        if (node?.stat.version === after && node.data.equals(pending.data)) {
          results[pending.index] = { ok: true, state: { ...state, partitionEpoch: after } };
        } else if (node?.stat.version === before) {
          again.push(pending);
        } else {
          const current = await this.readOne(state.topic, state.partition);
          results[pending.index] = { ok: false, current };
        }
      }
      return again;
    } catch (error) {
      if (hasCode(error, 'STALE_CONTROLLER_EPOCH')) throw error;
      throw unknownOutcome(error);
    }
  }

  private async readOne(
    topic: string,
    partition: number,
  ): Promise<VersionedPartitionState | undefined> {
    const node = await this.coordinator.get(paths.partitionState(topic, partition));
    if (!node) return undefined;
    const state: StoredPartitionState = decodePartitionState(topic, partition, node.data);
    return { ...state, partitionEpoch: node.stat.version, writtenAt: node.stat.mzxid };
  }
}

function settleAll(
  planned: readonly PlannedOperation[],
  answers: readonly MultiResult[],
  results: PartitionStateWriteResult[],
): void {
  planned.forEach(({ pending, isState }, index) => {
    if (!pending || !isState) return;
    const partitionEpoch = answers[index]?.stat?.version ?? 0; // a new node starts at 0
    results[pending.index] = { ok: true, state: { ...pending.write.state, partitionEpoch } };
  });
}

function unknownOutcome(cause: unknown): TributaryError {
  return new TributaryError(
    'COORDINATOR_UNAVAILABLE',
    'it cannot be known which partition states were written',
    { outcome: 'maybe written', cause },
  );
}
