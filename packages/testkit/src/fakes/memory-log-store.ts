/** A LogStore of MemoryLogs. Survives what a test calls a restart: hand the same store to the next broker. */
import { partitionKey, partitionName, TributaryError, type ErrorCode } from '@tributary/common';
import type {
  DirectoryStatus,
  LogStore,
  LostReplica,
  PartitionLog,
  PreviousStop,
  RepairedLog,
  RepairOptions,
  ReplicaId,
} from '@tributary/log';
import { MemoryLog } from './memory-log';

export class MemoryLogStore implements LogStore {
  previousStop: PreviousStop = { kind: 'first' };
  readonly cutBelowHighWatermark: string[] = [];
  private damagedOnes: ReplicaId[] = [];
  /** What a test wants to be lost; `delete` and `setAsideDamaged` give it up. */
  lostReplicas: LostReplica[] = [];
  brokerEpoch: number | undefined;
  readonly deleted: string[] = [];
  compactionRate: number | undefined;
  failNextCreate: ErrorCode | undefined;
  checkpoints = 0;
  private readonly byKey = new Map<string, MemoryLog>();
  private readonly aside: { topic: string; topicId: string; partition: number }[] = [];
  private readonly highWatermarks = new Map<string, number>();

  setCompactionRate(bytesPerSecond: number | undefined): void {
    this.compactionRate = bytesPerSecond;
  }

  logs(): PartitionLog[] {
    return [...this.byKey.values()];
  }

  get(topicId: string, partition: number): MemoryLog | undefined {
    return this.byKey.get(partitionKey(topicId, partition));
  }

  lost(): LostReplica[] {
    return this.lostReplicas;
  }

  directories(): DirectoryStatus[] {
    return [
      { path: '/memory', failure: undefined, partitions: this.byKey.size, freeBytes: 2 ** 40 },
    ];
  }

  async create(topic: string, topicId: string, partition: number): Promise<PartitionLog> {
    if (this.isLost(topicId, partition)) {
      throw new TributaryError('STORAGE_ERROR', `${partitionName(topic, partition)} is lost`);
    }
    const code = this.failNextCreate;
    this.failNextCreate = undefined;
    if (code) throw new TributaryError(code, 'the disk was told to fail');
    if (this.logs().some((log) => log.topic === topic && log.partition === partition)) {
      throw new TributaryError('STORAGE_ERROR', `${partitionName(topic, partition)} lies there`);
    }
    const log = new MemoryLog(topic, topicId, partition);
    this.byKey.set(partitionKey(topicId, partition), log);
    return log;
  }

  async delete(topicId: string, partition: number): Promise<void> {
    const key = partitionKey(topicId, partition);
    this.giveUp(topicId, partition);
    this.byKey.delete(key);
    this.deleted.push(key);
  }

  async moveAside(topicId: string, partition: number): Promise<void> {
    const key = partitionKey(topicId, partition);
    const log = this.byKey.get(key);
    if (!log) return;
    this.byKey.delete(key);
    this.aside.push({ topic: log.topic, topicId, partition });
  }

  async setAsideDamaged({ topic, topicId, partition }: ReplicaId): Promise<void> {
    this.giveUp(topicId, partition);
    if (this.byKey.delete(partitionKey(topicId, partition))) {
      this.damagedOnes.push({ topic, topicId, partition });
    }
  }

  damaged(): ReplicaId[] {
    return this.damagedOnes;
  }

  async repair(replica: ReplicaId, options: RepairOptions): Promise<RepairedLog> {
    const { topic, topicId, partition } = replica;
    this.giveUp(topicId, partition);
    const log = new MemoryLog(topic, topicId, partition);
    const lost = this.get(topicId, partition)?.repairInto(log, options) ?? [];
    this.byKey.set(partitionKey(topicId, partition), log);
    return { log, lost };
  }

  async removeDamaged(topicId: string, partition: number): Promise<void> {
    this.damagedOnes = this.damagedOnes.filter(
      (one) => one.topicId !== topicId || one.partition !== partition,
    );
  }

  strays(): { topic: string; topicId: string; partition: number }[] {
    return this.aside;
  }

  checkpointedHighWatermark(topicId: string, partition: number): number {
    const log = this.get(topicId, partition);
    return (log && this.highWatermarks.get(partitionName(log.topic, partition))) ?? 0;
  }

  async checkpointHighWatermarks(
    entries: readonly { topic: string; partition: number; offset: number }[],
  ): Promise<void> {
    this.checkpoints += 1;
    this.highWatermarks.clear();
    for (const { topic, partition, offset } of entries) {
      this.highWatermarks.set(partitionName(topic, partition), offset);
    }
  }

  async noteBrokerEpoch(brokerEpoch: number): Promise<void> {
    this.brokerEpoch = brokerEpoch;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private isLost(topicId: string, partition: number): boolean {
    return this.lostReplicas.some((one) => one.topicId === topicId && one.partition === partition);
  }

  private giveUp(topicId: string, partition: number): void {
    this.lostReplicas = this.lostReplicas.filter(
      (one) => one.topicId !== topicId || one.partition !== partition,
    );
  }
}
