/** A LogStore of MemoryLogs. Survives what a test calls a restart: hand the same store to the next broker. */
import { partitionKey, partitionName, TributaryError, type ErrorCode } from '@tributary/common';
import type { LogStore, PartitionLog } from '@tributary/log';
import { MemoryLog } from './memory-log';

export class MemoryLogStore implements LogStore {
  readonly directory = '/memory';
  readonly deleted: string[] = [];
  failNextCreate: ErrorCode | undefined;
  checkpoints = 0;
  private readonly byKey = new Map<string, MemoryLog>();
  private readonly aside: { topic: string; topicId: string; partition: number }[] = [];
  private readonly highWatermarks = new Map<string, number>();

  logs(): PartitionLog[] {
    return [...this.byKey.values()];
  }

  get(topicId: string, partition: number): MemoryLog | undefined {
    return this.byKey.get(partitionKey(topicId, partition));
  }

  async create(topic: string, topicId: string, partition: number): Promise<PartitionLog> {
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

  close(): Promise<void> {
    return Promise.resolve();
  }
}
