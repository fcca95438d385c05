/**
 * All that an omniscient observer knows of one partition: the state in the coordinator, every replica's log, and what is
 * committed: the true high watermark and the batches below it. Judges R1, R2, R3, R6, R7, R8, R9 and R10 at each change, in
 * time that goes with the change. Fed by LogObserver, StateObserver and MetadataAudit.
 */
import { decodeBatch } from '@tributary/record';
import { AppendedBatches } from './appended-batches';
import { describe, isSame, MarkedLog, type BatchMark } from './marked-log';
import { decodedText } from './record-text';
import type { TopicModel } from './topic-model';
import type { Violations } from './violations';

export interface ReplicaModel {
  readonly brokerId: number;
  readonly log: MarkedLog;
  running: boolean;
  highWatermark: number;
  /** Compared with what is committed up to here. */
  verified: number;
  /** Its machine lost what was not synced: the broker epoch of that life. Over with a seat in a later one. */
  taintedIn: number | undefined;
  /** Its log failed: what its last append wrote is not known. */
  failed: boolean;
  /** Where it ended before cuts that are not on the device: a loss of power may bring that back. 0: there are none. */
  uncutEnd: number;
}

export interface StoredState {
  readonly leader: number;
  readonly leaderEpoch: number;
  readonly controllerEpoch: number;
  readonly isr: readonly number[];
  readonly eligibleLeaders: readonly number[];
  /** By broker id: the broker epoch in which it got its seat. */
  readonly seatEpochs: Readonly<Record<string, number>>;
}

export interface CommittedRecord {
  readonly model: PartitionModel;
  readonly offset: number;
  readonly value: string;
}

export class PartitionModel {
  readonly name: string;
  readonly replicas = new Map<number, ReplicaModel>();
  /** Exclusive end of what any leader ever took for committed. */
  trueHighWatermark = 0;
  readonly committed = new MarkedLog();
  /** By offset, what is committed there; compaction takes away nothing here. */
  readonly values: (string | undefined)[] = [];
  /** As it stands in the coordinator. */
  stored: StoredState | undefined;
  /** By leader epoch, as the coordinator was told. */
  readonly leaders = new Map<number, number>();
  /** By leader epoch, the life of a broker that led in it. */
  private readonly led = new Map<number, () => boolean>();
  private readonly batches = new AppendedBatches();

  constructor(
    readonly topic: TopicModel,
    readonly partition: number,
    private readonly violations: Violations,
    private readonly onCommitted: (record: CommittedRecord) => void,
  ) {
    this.name = `${topic.topic}-${partition}`;
  }

  get isCompacted(): boolean {
    return this.topic.config.cleanupPolicy !== 'delete';
  }

  /** Its replicas may be gone at any moment. */
  get isOver(): boolean {
    return this.topic.dying;
  }

  replica(brokerId: number): ReplicaModel {
    const known = this.replicas.get(brokerId);
    if (known) return known;
    const log = new MarkedLog();
    const fresh = {
      highWatermark: 0,
      verified: 0,
      taintedIn: undefined,
      failed: false,
      uncutEnd: 0,
    };
    const replica = { brokerId, log, running: true, ...fresh };
    this.replicas.set(brokerId, replica);
    return replica;
  }

  /** The same batch for every (epoch, offset), wherever it lies, committed or not; epochs do not fall along a log. */
  appended(brokerId: number, mark: BatchMark): void {
    const { log } = this.replica(brokerId);
    const previous = log.last;
    if (previous && mark.epoch < previous.epoch) {
      this.report('R6', `broker ${brokerId}: ${describe(mark)} after ${describe(previous)}`);
    }
    if (mark.baseOffset < log.end) {
      this.report('R6', `broker ${brokerId}: ${describe(mark)} appended at ${log.end}`);
    }
    log.append(mark);
    this.batches.add(mark);
    const flaw = this.batches.flawOf(mark.bytes, this.isCompacted);
    if (flaw) this.report('R1', `broker ${brokerId} has ${flaw}`);
  }

  /** In a log that was opened: what its last life failed to say that it had written. */
  found(mark: BatchMark): void {
    this.batches.add(mark);
  }

  /** R10: whatever a replica gives out is what a leader appended, byte for byte. */
  served(brokerId: number, batches: Buffer): void {
    const flaw = this.batches.flawOf(batches, this.isCompacted);
    if (flaw) this.report('R10', `broker ${brokerId} serves ${flaw}`);
  }

  appendedAsLeader(brokerId: number, mark: BatchMark): void {
    const leader = this.leaders.get(mark.epoch);
    if (leader !== brokerId) {
      this.report('R8', `broker ${brokerId} appends in epoch ${mark.epoch} of broker ${leader}`);
    }
    this.appended(brokerId, mark);
  }

  truncated(brokerId: number, end: number): void {
    const replica = this.replica(brokerId);
    replica.uncutEnd = Math.max(replica.uncutEnd, replica.log.end);
    replica.log.truncate(end);
    this.shortened(replica);
  }

  restarted(brokerId: number, at: number): void {
    const replica = this.replica(brokerId);
    replica.log.restart(at);
    this.shortened(replica);
  }

  private shortened(replica: ReplicaModel): void {
    const { end } = replica.log;
    replica.verified = Math.min(replica.verified, end);
    replica.highWatermark = Math.min(replica.highWatermark, end);
    this.requireMember(replica, `cut to ${end}`);
  }

  /** R2 and R6: a leader begins. `latestEpoch`: of its log. */
  leaderStarted(brokerId: number, epoch: number, latestEpoch: number, alive: () => boolean): void {
    const leader = this.leaders.get(epoch);
    if (leader !== brokerId) {
      this.report('R8', `broker ${brokerId} leads in epoch ${epoch} of broker ${leader}`);
    }
    const before = this.led.get(epoch);
    if (before && before !== alive) {
      this.report('R8', `broker ${brokerId} leads in epoch ${epoch} in a second life`);
    }
    this.led.set(epoch, alive);
    if (latestEpoch !== epoch) {
      this.report(
        'R6',
        `broker ${brokerId} leads in epoch ${epoch}, its log knows ${latestEpoch} as the latest`,
      );
    }
    // One that was slow to begin, and has been replaced meanwhile, commits nothing.
    if (this.isOver || (this.stored?.leaderEpoch ?? epoch) > epoch) return;
    const replica = this.replica(brokerId);
    const { end } = replica.log;
    if (end < this.trueHighWatermark) {
      const missing = `${this.trueHighWatermark - end} committed offsets from ${end} on`;
      this.report('R2', `broker ${brokerId} leads in epoch ${epoch} without ${missing}`);
    } else {
      this.verify(replica, this.trueHighWatermark, 'R2');
    }
  }

  /** A replica takes everything below `highWatermark` for committed. */
  highWatermarkMoved(brokerId: number, highWatermark: number, isLeader: boolean): void {
    const replica = this.replica(brokerId);
    replica.highWatermark = highWatermark;
    if (highWatermark > replica.log.end) {
      this.report('R7', `broker ${brokerId}: HW ${highWatermark} above LEO ${replica.log.end}`);
      return;
    }
    if (highWatermark > this.trueHighWatermark) {
      if (!isLeader) {
        const truth = `no leader has committed more than ${this.trueHighWatermark}`;
        this.report('R3', `broker ${brokerId} follows with HW ${highWatermark}: ${truth}`);
      }
      this.commit(replica, highWatermark);
    }
    this.verify(replica, highWatermark, 'R1');
  }

  private commit(replica: ReplicaModel, highWatermark: number): void {
    const from = this.trueHighWatermark;
    this.trueHighWatermark = highWatermark;
    for (const mark of replica.log.between(from, highWatermark)) {
      if (mark.baseOffset < this.committed.end) continue;
      this.committed.append(mark);
      for (const record of decodeBatch(mark.bytes)) {
        const { offset } = record;
        const value = decodedText(record);
        this.values[offset] = value;
        this.onCommitted({ model: this, offset, value });
      }
    }
    this.requireMembers(`committed up to ${highWatermark}`);
  }

  /** R3: each running member of the ISR, and each that may be elected, has all that is committed. */
  requireMembers(why: string): void {
    const { stored } = this;
    if (!stored) return;
    for (const brokerId of [...stored.isr, ...stored.eligibleLeaders]) {
      const replica = this.replicas.get(brokerId);
      if (replica) this.requireMember(replica, why);
    }
  }

  requireMember(replica: ReplicaModel, why: string): void {
    const { brokerId, log, running, taintedIn } = replica;
    if (!running || taintedIn !== undefined || this.isOver || !this.isMember(brokerId)) return;
    if (log.end >= this.trueHighWatermark) {
      this.verify(replica, this.trueHighWatermark, 'R1');
      return;
    }
    this.report(
      'R3',
      `broker ${brokerId} is in sync with LEO ${log.end} below the true HW ${this.trueHighWatermark}: ${why}`,
    );
  }

  isMember(brokerId: number): boolean {
    const { stored } = this;
    return (
      stored !== undefined &&
      (stored.isr.includes(brokerId) || stored.eligibleLeaders.includes(brokerId))
    );
  }

  /** R1: batch by batch what everybody has below `below`. */
  private verify(replica: ReplicaModel, below: number, invariant: string): void {
    if (replica.verified >= below) return;
    const from = Math.max(replica.verified, replica.log.start);
    replica.verified = below;
    if (this.isCompacted || this.isOver) return;
    const own = replica.log.between(from, below);
    const truth = this.committed.between(from, below);
    for (let at = 0; at < truth.length; at += 1) {
      const [mine, theirs] = [own[at], truth[at]!];
      if (mine && isSame(mine, theirs)) continue;
      const found = mine ? describe(mine) : 'nothing';
      this.report(
        invariant,
        `broker ${replica.brokerId} has ${found} where ${describe(theirs)} is committed`,
      );
      return;
    }
  }

  report(invariant: string, text: string): void {
    this.violations.report(invariant, `${this.name}: ${text}`);
  }
}
