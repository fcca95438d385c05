/**
 * The way of records into the batches. Invariant: records of one topic are appended in the order of their
 * sends, also while the first ones wait for metadata or for room; what waits is bounded, and may be withdrawn
 * until it is appended. Called by the producer.
 */
import { BoundedQueue, Deadline, TributaryError } from '@tributary/common';
import type { RecordInput } from '@tributary/record';
import type { ClientContext, TopicView } from '../seams';
import type { EncodedRecord } from './producer-record';
import type { Delivery } from './record-batch';
import type { SendBudget } from './send-budget';

/** Sends that wait for metadata or for room. */
export const MAX_WAITING_SENDS = 1_000_000;

/** A class, not a literal: one is made per record, and a spread costs more than all the rest. */
export class Send implements EncodedRecord {
  readonly record: RecordInput;
  readonly partition: number | undefined;
  readonly bytes: number;
  /** waiting: nothing of it is in a batch; withdrawn: nothing will be. */
  stage: 'waiting' | 'appended' | 'withdrawn' = 'waiting';

  constructor(
    readonly topic: string,
    encoded: EncodedRecord,
    readonly delivery: Delivery,
    readonly acceptedAt: number,
  ) {
    this.record = encoded.record;
    this.partition = encoded.partition;
    this.bytes = encoded.bytes;
  }
}

interface Lane {
  readonly sends: BoundedQueue<Send>;
  /** Taken off the queue, and not in yet. */
  current: Send | undefined;
  /** Counts of sends that came, and that left. */
  added: number;
  left: number;
  /** Who waits until so many left. */
  readonly marks: { readonly at: number; readonly reached: () => void }[];
}

export class Admission {
  private readonly lanes = new Map<string, Lane>();
  private waiting = 0;

  constructor(
    private readonly context: ClientContext,
    private readonly budget: SendBudget,
    private readonly deliveryTimeoutMs: number,
    /** Appends, budget taken. Throws what is wrong with the record for this topic. */
    private readonly append: (view: TopicView, send: Send) => void,
  ) {}

  admit(send: Send): void {
    const lane = this.lanes.get(send.topic);
    if (!lane) {
      const view = this.context.metadata.cached(send.topic);
      const isKnown = view !== undefined && hasPartition(view, send);
      if (isKnown && this.budget.tryTake(send.bytes)) return this.enter(view, send);
    }
    if (this.waiting >= MAX_WAITING_SENDS) return send.delivery.failed(overloaded());
    this.waiting += 1;
    if (lane) {
      lane.sends.push(send);
      lane.added += 1;
    } else this.openLane(send);
  }

  /** Resolves when all that waits now is appended or failed, whatever comes behind it. */
  async drained(): Promise<void> {
    const marks = [...this.lanes.values()].map(
      ({ marks: list, added }) =>
        new Promise<void>((reached) => {
          list.push({ at: added, reached });
        }),
    );
    await Promise.all(marks);
  }

  /** Everything that waits fails. */
  end(error: TributaryError): void {
    for (const lane of this.lanes.values()) this.failLane(lane, error);
  }

  private openLane(first: Send): void {
    const sends = new BoundedQueue<Send>(MAX_WAITING_SENDS);
    sends.push(first);
    const lane: Lane = { sends, current: undefined, added: 1, left: 0, marks: [] };
    this.lanes.set(first.topic, lane);
    void this.run(first.topic, lane);
  }

  private async run(topic: string, lane: Lane): Promise<void> {
    for (let send = lane.sends.shift(); send; send = lane.sends.shift()) {
      lane.current = send;
      try {
        if (send.stage === 'waiting') await this.prepare(send);
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        // Without the topic none of those behind can get in either.
        if (error.code === 'UNKNOWN_TOPIC') this.failLane(lane, error);
        else this.fail(send, error);
      }
      lane.current = undefined;
      this.leave(lane, 1);
    }
    this.lanes.delete(topic);
  }

  private failLane(lane: Lane, error: TributaryError): void {
    if (lane.current) this.fail(lane.current, error);
    const behind = lane.sends.drain();
    for (const send of behind) this.fail(send, error);
    this.leave(lane, behind.length);
  }

  private leave(lane: Lane, count: number): void {
    this.waiting -= count;
    lane.left += count;
    while (lane.marks[0] && lane.marks[0].at <= lane.left) lane.marks.shift()?.reached();
  }

  private async prepare(send: Send): Promise<void> {
    const { clock, closing, metadata } = this.context;
    const remainingMs = send.acceptedAt + this.deliveryTimeoutMs - clock.now();
    const deadline = Deadline.after(clock, Math.max(0, remainingMs), closing);
    if (!this.budget.tryTake(send.bytes)) await this.waitForRoom(send.bytes, deadline);
    try {
      let view = metadata.cached(send.topic) ?? (await metadata.topic(send.topic, deadline));
      if (!hasPartition(view, send)) {
        await metadata.refresh([send.topic], deadline);
        view = await metadata.topic(send.topic, deadline);
      }
      deadline.check('waiting for room in the buffer of the producer');
      // Withdrawn or ended while it waited: the room goes back.
      if (send.stage === 'waiting') return this.enter(view, send);
    } catch (thrown) {
      this.budget.release(send.bytes);
      throw thrown;
    }
    this.budget.release(send.bytes);
  }

  /** The budget is taken. */
  private enter(view: TopicView, send: Send): void {
    send.stage = 'appended';
    try {
      this.append(view, send);
    } catch (thrown) {
      this.budget.release(send.bytes);
      send.delivery.failed(TributaryError.from(thrown).withOutcome('not written'));
    }
  }

  private async waitForRoom(bytes: number, deadline: Deadline): Promise<void> {
    let granted = false;
    let wait: { readonly cancel: () => void } | undefined;
    const room = new Promise<void>((resolve) => {
      wait = this.budget.wait(bytes, () => {
        granted = true;
        resolve();
      });
    });
    if (!wait) throw overloaded();
    try {
      await deadline.race(room, 'waiting for room in the buffer of the producer');
    } catch (thrown) {
      if (granted) this.budget.release(bytes);
      else wait.cancel();
      throw thrown;
    }
  }

  private fail(send: Send, error: TributaryError): void {
    if (send.stage !== 'waiting') return;
    send.stage = 'withdrawn';
    send.delivery.failed(error.withOutcome('not written'));
  }
}

/** False: it may have been added since the topic was read. What is no partition at all is refused later. */
function hasPartition({ partitions }: TopicView, { partition }: Send): boolean {
  return partition === undefined || !(partition >= partitions.length);
}

function overloaded(): TributaryError {
  return new TributaryError(
    'OVERLOADED',
    `${MAX_WAITING_SENDS} sends wait for room in the producer already: await them`,
    { outcome: 'not written' },
  );
}
