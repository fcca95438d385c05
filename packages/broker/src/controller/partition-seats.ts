/**
 * What each seat in a partition's stored state is worth now, its broker's state and past taken into account. Pure;
 * called by the decisions on partitions. See docs/adr/0020-what-a-seat-is-worth.md.
 *
 * A seat was given to a broker in one broker epoch. In a later one another process has it, or the same that lost its
 * session; what that tells of how the process before it stopped decides. It speaks of the last life that was imaged, so
 * a seat from before that one is in doubt: that life may have told of something worse, and nobody acted on it. Where it is
 * the same process that had it, its log is as complete as it was then, though it may have no log, if it never heard that
 * the partition is its own: so nothing that it tells of the process before it counts.
 */
import { partitionKey } from '@tributary/common';
import type { VersionedPartitionState } from '@tributary/coordination';
import { isTrusted } from './broker-standing';
import {
  isEligible,
  isNewLife,
  stays,
  steadyFirst,
  type BrokerPast,
  type BrokerState,
  type TopicState,
} from './controller-state';

export type Brokers = ReadonlyMap<number, BrokerState>;

/**
 * held: by the very life that it was given to, trusted and not on its way out. returned: by a later one whose log is
 * complete, as always in the same process. doubtful: by a later one whose log may lack what was committed. lost: by a later one that has nothing of
 * it, as its disks are new. away: nothing can be said now: the broker is gone or untrusted, leaves, has not told of its past,
 * or its replica is offline.
 */
export type SeatWorth = 'held' | 'returned' | 'doubtful' | 'lost' | 'away';

/** A broker and its replica of one partition: undefined while that cannot serve. */
export function servingBroker(
  brokers: Brokers,
  brokerId: number,
  key: string,
): BrokerState | undefined {
  const broker = brokers.get(brokerId);
  return broker && broker.offline.size > 0 && broker.offline.has(key) ? undefined : broker;
}

export class PartitionSeats {
  private readonly key: string;

  constructor(
    private readonly topic: TopicState,
    private readonly stored: VersionedPartitionState,
    private readonly brokers: Brokers,
  ) {
    this.key = partitionKey(topic.record.topicId, stored.partition);
  }

  /** Undefined also while its replica cannot serve. */
  broker(brokerId: number): BrokerState | undefined {
    return servingBroker(this.brokers, brokerId, this.key);
  }

  /** In the order given, but those on probation after all others. */
  steadyFirst(brokerIds: readonly number[]): number[] {
    return steadyFirst(brokerIds, this.brokers);
  }

  /** Its broker is there, and says that it cannot serve. */
  isOffline(brokerId: number): boolean {
    return this.brokers.get(brokerId)?.offline.has(this.key) ?? false;
  }

  /** May be made leader, or join. */
  isReady(brokerId: number): boolean {
    return isEligible(this.broker(brokerId));
  }

  worth(brokerId: number): SeatWorth {
    const broker = this.broker(brokerId);
    if (!broker) return 'away';
    if (!isNewLife(this.stored, broker)) return stays(broker) ? 'held' : 'away';
    const { past } = broker;
    if (!past) return 'away';
    if (!this.isOfThisProcess(brokerId, past) && !past.replicas.get(this.key)?.completeAgain) {
      // What it has of it now was made empty by this process.
      if (past.stop === 'never ran') return 'lost';
      if (this.isDoubtful(broker, past)) return 'doubtful';
    }
    return stays(broker) ? 'returned' : 'away';
  }

  holds(brokerId: number): boolean {
    return this.worth(brokerId) === 'held';
  }

  /** Trusted, in the life that its seat was given to, though maybe on its way out. */
  isSameLife(brokerId: number): boolean {
    const broker = this.broker(brokerId);
    return broker !== undefined && isTrusted(broker.standing) && !isNewLife(this.stored, broker);
  }

  /**
   * Those of `ids` get their seats in the present lives where `isAccepted`, and keep what they have elsewhere; where the
   * state does not say what that is, they had it when it was written.
   */
  epochs(ids: readonly number[], isAccepted: boolean): [number, number][] {
    return ids.flatMap((id): [number, number][] => {
      const now = isAccepted ? this.brokers.get(id)?.registration.brokerEpoch : undefined;
      const epoch = now ?? this.stored.seatEpochs?.get(id) ?? this.stored.writtenAt;
      return epoch === undefined ? [] : [[id, epoch]];
    });
  }

  /** Leader epoch of its last batch and its log end, as its broker told; of an empty or unknown one -1, 0. */
  lengthOf(brokerId: number): LogLength {
    return this.broker(brokerId)?.past?.replicas.get(this.key) ?? noLog;
  }

  /** Where the state does not name the epoch of a seat, nothing tells whose it was. */
  private isOfThisProcess(brokerId: number, { earlierEpochs }: BrokerPast): boolean {
    const given = this.stored.seatEpochs?.get(brokerId);
    return given !== undefined && earlierEpochs.has(given);
  }

  private isDoubtful({ registration }: BrokerState, past: BrokerPast): boolean {
    const { brokerId } = registration;
    if (past.replicas.get(this.key)?.cutBelowHighWatermark) return true;
    const given = this.stored.seatEpochs?.get(brokerId);
    if (given !== undefined && given < past.brokerEpoch) return true;
    return past.stop === 'machine' && !this.topic.isSynced;
  }
}

export interface LogLength {
  readonly lastEpoch: number;
  readonly logEndOffset: number;
}

const noLog: LogLength = { lastEpoch: -1, logEndOffset: 0 };

/** The first one of those that have most. */
export function longest(seats: PartitionSeats, ids: readonly number[]): number | undefined {
  let best: number | undefined;
  for (const id of ids) {
    if (best === undefined || isLonger(seats.lengthOf(id), seats.lengthOf(best))) best = id;
  }
  return best;
}

function isLonger(a: LogLength, b: LogLength): boolean {
  if (a.lastEpoch !== b.lastEpoch) return a.lastEpoch > b.lastEpoch;
  return a.logEndOffset > b.logEndOffset;
}
