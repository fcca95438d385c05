/**
 * Consumers of a run: one that reads every partition from the start for itself, and the members of a group. Each tells the
 * judge what it sees, and judges C5 itself: offsets rise, none is skipped while a partition stays assigned. Called by the
 * run of a seed.
 */
import type { Client, Consumer, ConsumerRecord } from '@tributary/client';
import { hasCode, sleep, TributaryError, type Clock } from '@tributary/common';
import type { ClientJudge } from '../checker/client-judge';
import type { PartitionModel } from '../checker/partition-model';
import { recordText, TEXT_HEADER } from '../checker/record-text';
import type { Violations } from '../checker/violations';
import type { LoadTopic } from './load-writer';

export interface ReaderContext {
  readonly clock: Clock;
  readonly judge: ClientJudge;
  readonly violations: Violations;
  readonly topics: readonly LoadTopic[];
}

/** After an error that is none of the reader's making. */
const AGAIN_MS = 200;

export abstract class LoadReader {
  protected consumer: Consumer | undefined;
  protected stopped = false;
  private loop: Promise<void> | undefined;
  /** By partition: the offset that comes next, as long as it stays assigned. */
  protected readonly next = new Map<string, number>();

  constructor(
    protected readonly client: Client,
    readonly name: string,
    protected readonly context: ReaderContext,
  ) {}

  start(): void {
    this.loop = this.readOn();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.consumer?.close();
    await this.loop;
  }

  protected abstract open(): Consumer;

  /** Errors are no violation: it opens again. */
  protected mayFail(): boolean {
    return false;
  }

  protected seen(record: ConsumerRecord): void {
    const { topic, partition, offset } = record;
    const { judge, violations, topics } = this.context;
    const at = Number(offset);
    const place = `${topic}-${partition}`;
    const expected = this.next.get(place);
    const isCompacted = topics.some((one) => one.topic === topic && one.keys > 0);
    const isNext = expected === undefined || at === expected || (isCompacted && at > expected);
    if (!isNext) violations.report('C5', `${this.name} read ${place}@${at}, not @${expected}`);
    this.next.set(place, at + 1);
    judge.read({ reader: this.name, topic, partition, offset: at, value: textOfRead(record) });
  }

  private async readOn(): Promise<void> {
    const { clock, violations } = this.context;
    while (!this.stopped) {
      try {
        this.consumer = this.open();
        for await (const record of this.consumer) {
          this.seen(record);
          if (violations.first) return;
        }
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        if (this.stopped || hasCode(error, 'CLOSED')) return;
        if (this.mayFail()) {
          await this.consumer?.close();
          await sleep(clock, AGAIN_MS);
          continue;
        }
        violations.report('L3', `${this.name} cannot read on: ${String(thrown)}`);
        return;
      }
      await sleep(clock, AGAIN_MS);
    }
  }
}

/** Reads all for itself. */
export class PlainReader extends LoadReader {
  protected override open(): Consumer {
    const assign = this.context.topics.flatMap(({ topic, partitions }) =>
      Array.from({ length: partitions }, (_, partition) => {
        return { topic, partition, offset: this.next.get(`${topic}-${partition}`) ?? 0 };
      }),
    );
    return this.client.consumer({ assign });
  }

  /** Offset up to which it has read. */
  readUpTo(topic: string, partition: number): number {
    return this.next.get(`${topic}-${partition}`) ?? 0;
  }
}

/** What all members of a group have read together: the next offset nobody has seen, by partition. */
export type GroupProgress = Map<string, number>;

/** A member of a group that commits from time to time. */
export class GroupMember extends LoadReader {
  constructor(
    client: Client,
    name: string,
    context: ReaderContext,
    private readonly group: { readonly name: string; readonly progress: GroupProgress },
  ) {
    super(client, name, context);
  }

  protected override open(): Consumer {
    const consumer = this.client.consumer({
      group: this.group.name,
      topics: this.context.topics.map(({ topic }) => topic),
      from: 'earliest',
      sessionTimeoutMs: 3_000,
      autoCommit: { intervalMs: 300 },
    });
    consumer.on('assigned', ({ partitions }) => {
      for (const { topic, partition } of partitions) this.next.delete(`${topic}-${partition}`);
    });
    return consumer;
  }

  /** G3: nobody reads beyond what nobody has read. */
  protected override seen(record: ConsumerRecord): void {
    super.seen(record);
    const { topic, partition, offset } = record;
    const { progress } = this.group;
    const place = `${topic}-${partition}`;
    const unseen = progress.get(place) ?? 0;
    const isCompacted = this.context.topics.some((one) => one.topic === topic && one.keys > 0);
    if (Number(offset) > unseen && !isCompacted) {
      const what = `${this.name} read ${place}@${offset}, nobody @${unseen}`;
      this.context.violations.report('C5', what);
    }
    progress.set(place, Math.max(unseen, Number(offset) + 1));
  }
}

/**
 * Reads a topic that comes and goes. Each topic of that name is read from its start, and none of it is skipped: a position
 * in the one before means nothing in the next.
 */
export class ChurnReader extends LoadReader {
  private readonly nextIn = new Map<PartitionModel, number>();

  protected override open(): Consumer {
    this.nextIn.clear();
    const assign = this.context.topics.map(({ topic }) => ({ topic, partition: 0, offset: 0 }));
    return this.client.consumer({ assign, onOutOfRange: 'earliest' });
  }

  protected override seen(record: ConsumerRecord): void {
    const { topic, partition, offset } = record;
    const at = Number(offset);
    const seen = { reader: this.name, topic, partition, offset: at, value: textOfRead(record) };
    const model = this.context.judge.read(seen);
    if (!model) return;
    const expected = this.nextIn.get(model) ?? 0;
    if (at !== expected) model.report('C5', `${this.name} read ${at}, not ${expected}`);
    this.nextIn.set(model, at + 1);
  }

  /** The topic is away, or another one of its name has come. */
  protected override mayFail(): boolean {
    return true;
  }

  readUpTo(model: PartitionModel): number {
    return this.nextIn.get(model) ?? 0;
  }
}

export function textOfRead({ value, headers }: ConsumerRecord): string {
  return recordText(value, headers.get(TEXT_HEADER));
}
