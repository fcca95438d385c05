/**
 * Two members of a consumer group that follow the load and commit as they go; one finds the cluster through ZooKeeper,
 * the other through brokers. What they read goes into the history, with a new name for each assignment.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { TributaryError } from '@tributary/common';
import type { Client, Consumer } from '@tributary/client';
import type { History } from '@tributary/testkit';
import { fetchMinBytes, isMany } from './many-partitions';
import { READ_AGAIN_AFTER_MS, readRecord } from '../workload';

const GROUP = 'chaos-group';
const COMMIT_EVERY_MS = 500;
/** A commit writes a node of ZooKeeper for each partition that went on. */
const COMMIT_MANY_EVERY_MS = 5_000;

export class GroupMembers {
  private readonly consumers: Consumer[];
  private reading: Promise<unknown> = Promise.resolve();

  constructor(
    clients: readonly Client[],
    { topic, partitions }: { readonly topic: string; readonly partitions: number },
    private readonly history: History,
    private readonly onError: (what: string) => void,
  ) {
    this.consumers = clients.map((client) =>
      client.consumer({
        group: GROUP,
        topics: [topic],
        from: 'earliest',
        minBytes: fetchMinBytes(partitions),
        autoCommit: { intervalMs: isMany(partitions) ? COMMIT_MANY_EVERY_MS : COMMIT_EVERY_MS },
      }),
    );
  }

  start(): void {
    this.reading = Promise.all(
      this.consumers.map((consumer, index) => this.follow(consumer, `member ${index + 1}`)),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.close({ timeoutMs: 10_000 })));
    await this.reading;
  }

  private async follow(consumer: Consumer, name: string): Promise<void> {
    const assignments = new Map<number, number>();
    consumer.on('assigned', ({ partitions }) => {
      for (const { partition } of partitions) {
        assignments.set(partition, (assignments.get(partition) ?? 0) + 1);
      }
    });
    await this.read(consumer, name, (partition) => assignments.get(partition) ?? 0);
  }

  private async read(
    consumer: Consumer,
    name: string,
    assignment: (partition: number) => number,
  ): Promise<void> {
    try {
      for await (const record of consumer) {
        const reader = `${name}, assignment ${assignment(record.partition)}`;
        this.history.liveReads.push({ ...readRecord(record), at: performance.now(), reader });
      }
    } catch (thrown) {
      const { code, message } = TributaryError.from(thrown);
      this.onError(`${name} of the group: ${code}: ${message}`);
      if (code === 'CLOSED') return;
      await pause(READ_AGAIN_AFTER_MS);
      return this.read(consumer, name, assignment);
    }
  }
}
