/**
 * Reads one partition after another from its start up to what is committed then, again and again: so old segments are read,
 * too. Judges C5, and C10: whoever reads a compacted partition from its start sees what each key was set to last, or
 * later. Called by the run of a seed.
 */
import type { Client, Consumer, ConsumerRecord } from '@tributary/client';
import { hasCode, sleep, type Random } from '@tributary/common';
import { lastOfKeys } from '../checker/compacted-keys';
import type { PartitionModel } from '../checker/partition-model';
import { pick } from '../seed-plan';
import { textOfRead, type ReaderContext } from './load-reader';

const NAME = 'start-reader';
const INTERVAL_MS = 700;

/** One way from the start of a partition to its end. */
interface Pass {
  readonly model: PartitionModel;
  readonly end: number;
  /** By key, of a compacted partition: the offset of its last record when this began. */
  readonly due: ReadonlyMap<string, number>;
  readonly read: Map<string, number>;
  next: number;
}

export class StartReader {
  private consumer: Consumer | undefined;
  private stopped = false;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly client: Client,
    private readonly context: ReaderContext & { readonly random: Random },
  ) {}

  start(): void {
    this.loop = this.readOn();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.consumer?.close();
    await this.loop;
  }

  private async readOn(): Promise<void> {
    const { clock, random, topics, judge } = this.context;
    while (!this.stopped) {
      await sleep(clock, INTERVAL_MS * (0.5 + random.next()));
      const { topic, partitions } = pick(random, topics);
      const partition = Math.floor(random.next() * partitions);
      const [model] = judge.incarnations(topic, partition);
      if (this.stopped || !model || model.trueHighWatermark === 0) continue;
      await this.readAll(passOver(model));
    }
  }

  private async readAll(pass: Pass): Promise<void> {
    const { topic, partition } = placeOf(pass);
    const consumer = this.client.consumer({ assign: [{ topic, partition, offset: 0 }] });
    this.consumer = consumer;
    try {
      for await (const record of consumer) {
        this.seen(pass, record);
        if (!isOver(pass)) continue;
        judgeKeys(pass);
        break;
      }
    } catch (thrown) {
      // Whoever is asked may not have heard of a partition that was added.
      const isExpected = this.stopped || hasCode(thrown, 'CLOSED', 'UNKNOWN_PARTITION');
      if (!isExpected) pass.model.report('L3', `${NAME} cannot read on: ${String(thrown)}`);
    }
    await consumer.close();
  }

  private seen(pass: Pass, record: ConsumerRecord): void {
    const at = Number(record.offset);
    const { topic, partition } = placeOf(pass);
    const isNext = pass.model.isCompacted ? at >= pass.next : at === pass.next;
    if (!isNext) pass.model.report('C5', `${NAME} read ${at}, not ${pass.next}`);
    pass.next = at + 1;
    pass.read.set(Buffer.from(record.key ?? []).toString('latin1'), at);
    const value = textOfRead(record);
    this.context.judge.read({ reader: NAME, topic, partition, offset: at, value });
  }
}

function passOver(model: PartitionModel): Pass {
  const due = model.isCompacted ? lastOfKeys(model.committed.marks) : new Map<string, number>();
  return { model, end: model.trueHighWatermark, due, read: new Map(), next: 0 };
}

function placeOf({ model }: Pass): { readonly topic: string; readonly partition: number } {
  return { topic: model.topic.topic, partition: model.partition };
}

/** What was due may have been compacted away for what was set since, which lies further on. */
function isOver({ model, end, next, due, read }: Pass): boolean {
  if (next < end) return false;
  if (next >= model.trueHighWatermark) return true;
  return [...due].every(([key, offset]) => (read.get(key) ?? -1) >= offset);
}

function judgeKeys({ model, due, read }: Pass): void {
  for (const [key, offset] of due) {
    const last = read.get(key) ?? -1;
    if (last >= offset) continue;
    model.report('C10', `${NAME} read ${last} as the last of key ${key}, ${offset} was committed`);
  }
}
