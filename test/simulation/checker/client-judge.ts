/**
 * Judges what clients were told, at the moment they are told it: C1 to C9. Every record carries its writer and a number
 * that rises; what is committed where is known from the model. Called by the workload, and by the model for each record that
 * becomes committed.
 */
import type { TributaryError } from '@tributary/common';
import type { ClusterModel } from './cluster-model';
import type { CommittedRecord, PartitionModel } from './partition-model';
import type { Violations } from './violations';

export interface Attempt {
  readonly writer: string;
  readonly topic: string;
  readonly partition: number;
  readonly number: number;
  /** acks=all and idempotent; else acks=1. */
  readonly isIdempotent: boolean;
  readonly sentAtMs: number;
  /** Highest offset that was acknowledged to anybody in this partition before this was sent; by topic id. */
  readonly floor: ReadonlyMap<PartitionModel, number>;
  fate: 'pending' | 'acknowledged' | 'not written' | 'unknown';
  offset?: number;
  error?: string;
}

export interface Seen {
  readonly reader: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
}

export class ClientJudge {
  readonly counts = { acknowledged: 0, unknown: 0, refused: 0, read: 0 };
  private readonly attempts = new Map<string, Attempt>();
  private readonly highestAcknowledged = new Map<PartitionModel, number>();
  /** By partition and writer: the number committed last. */
  private readonly lastCommitted = new Map<PartitionModel, Map<string, number>>();
  private cluster!: ClusterModel;

  constructor(private readonly violations: Violations) {}

  /** Made before the model, which tells it what is committed. */
  watch(cluster: ClusterModel): void {
    this.cluster = cluster;
  }

  sent(
    what: Pick<Attempt, 'writer' | 'topic' | 'partition' | 'number' | 'isIdempotent' | 'sentAtMs'>,
  ): Attempt {
    const floor = new Map<PartitionModel, number>();
    for (const model of this.incarnations(what.topic, what.partition)) {
      floor.set(model, this.highestAcknowledged.get(model) ?? -1);
    }
    const attempt: Attempt = { ...what, floor, fate: 'pending' };
    this.attempts.set(keyOf(what, textOf(attempt)), attempt);
    return attempt;
  }

  acknowledged(attempt: Attempt, offset: number): void {
    Object.assign(attempt, { fate: 'acknowledged', offset });
    this.counts.acknowledged += 1;
    const { topic, partition, isIdempotent } = attempt;
    const text = textOf(attempt);
    const places = this.incarnations(topic, partition);
    const place = places.find((model) => model.values[offset] === text);
    if (place) {
      const floor = attempt.floor.get(place) ?? -1;
      if (offset <= floor) {
        place.report('C3', `${text} acknowledged at ${offset}, ${floor} was before it was sent`);
      }
      const highest = this.highestAcknowledged.get(place) ?? -1;
      this.highestAcknowledged.set(place, Math.max(highest, offset));
      return;
    }
    if (!isIdempotent || places.some(({ isOver }) => isOver)) return;
    const there = places.map(({ values, trueHighWatermark }) => {
      return `${values[offset] ?? 'nothing'}, true HW ${trueHighWatermark}`;
    });
    const found = there.join('; ') || 'no topic';
    this.report('C1', attempt, `${text} acknowledged at ${offset}, where is ${found}`);
  }

  failed(attempt: Attempt, { outcome, message }: TributaryError): void {
    attempt.error = message;
    attempt.fate = outcome === 'not written' ? 'not written' : 'unknown';
    if (attempt.fate === 'unknown') {
      this.counts.unknown += 1;
      return;
    }
    this.counts.refused += 1;
    const { topic, partition } = attempt;
    for (const model of this.incarnations(topic, partition)) {
      const at = model.values.lastIndexOf(textOf(attempt));
      if (at >= 0)
        model.report('C6', `${textOf(attempt)} is at ${at}, refused for sure: ${message}`);
    }
  }

  /** C4 and C6, as the log grows. */
  committed({ model, offset, value }: CommittedRecord): void {
    const attempt = this.attempts.get(
      keyOf({ topic: model.topic.topic, partition: model.partition }, value),
    );
    if (!attempt) {
      if (value !== '') model.report('C2', `nobody sent ${value}, which is at ${offset}`);
      return;
    }
    if (attempt.fate === 'not written') {
      const why = `refused for sure: ${attempt.error}`;
      model.report('C6', `${value} is committed at ${offset}, ${why}`);
    }
    if (!attempt.isIdempotent) return;
    const known = this.lastCommitted.get(model);
    const last = known?.get(attempt.writer) ?? -1;
    if (attempt.number <= last) {
      const how = attempt.number === last ? 'a duplicate' : `after number ${last}`;
      model.report('C4', `${value} is committed at ${offset}: ${how}`);
    }
    const numbers = known ?? new Map<string, number>();
    this.lastCommitted.set(model, numbers.set(attempt.writer, attempt.number));
  }

  /** C2 and C7. Answers in which topic of this name it lies. */
  read({ reader, topic, partition, offset, value }: Seen): PartitionModel | undefined {
    this.counts.read += 1;
    const places = this.incarnations(topic, partition);
    const place = places.findLast((model) => model.values[offset] === value);
    // What is committed in a topic that is about to go is not known.
    if (place || places.some(({ isOver }) => isOver)) return place;
    const [only] = places;
    const what = `${reader} read ${value} at ${offset}`;
    if (only && places.length === 1 && offset >= only.trueHighWatermark) {
      only.report('C7', `${what}, the true HW is ${only.trueHighWatermark}`);
      return only;
    }
    const there = places.map(({ values }) => values[offset] ?? 'nothing').join('; ');
    this.violations.report('C2', `${topic}-${partition}: ${what}, where is ${there}`);
    return only;
  }

  /** Of all topics of this name. */
  incarnations(topic: string, partition: number): PartitionModel[] {
    return this.cluster
      .incarnations(topic)
      .map(({ topicId }) => this.cluster.find(topicId, partition))
      .filter((model) => model !== undefined);
  }

  /** When all has settled: L2, C9, and C1 once more. `trueLeaderEpoch`: the newest of a partition. */
  settled(): void {
    for (const attempt of this.attempts.values()) {
      if (attempt.fate === 'pending') {
        this.report('L2', attempt, `${textOf(attempt)} was never answered`);
      }
      if (attempt.fate === 'acknowledged') this.judgeKept(attempt, attempt.offset!);
    }
  }

  private judgeKept(attempt: Attempt, offset: number): void {
    const text = textOf(attempt);
    const places = this.incarnations(attempt.topic, attempt.partition);
    if (places.some((model) => model.values[offset] === text || model.isOver)) return;
    if (attempt.isIdempotent)
      this.report('C1', attempt, `${text}, acknowledged at ${offset}, is gone`);
    // acks=1: with its leader only.
    const epochs = places.map(({ leaders }) => leaders.size);
    if (!attempt.isIdempotent && epochs.every((count) => count < 2)) {
      this.report('C9', attempt, `${text}, acknowledged by the leader, is gone without a failover`);
    }
  }

  private report(invariant: string, { topic, partition }: Attempt, text: string): void {
    this.violations.report(invariant, `${topic}-${partition}: ${text}`);
  }
}

/** What a record's value begins with. */
export function textOf({ writer, number }: { writer: string; number: number }): string {
  return `${writer}:${number}`;
}

function keyOf(place: { topic: string; partition: number }, text: string): string {
  return `${place.topic}-${place.partition}/${text}`;
}
