/**
 * What this broker tells controllers of how the process before it ended, which of its replicas have made up for it, and
 * which registrations this process has had.
 *
 * Invariant: what an unclean stop may have taken stays told until a controller has put it into the stored states, over
 * restarts, too: only with the first image of a registration is that registration noted on the disks. A
 * controller sends its image after that, see BrokerHello. Its own registrations it knows from memory alone: none is
 * ever read from a disk, for what another process was given may be lost here. Made by ReplicaManager.
 */
import { partitionKey, partitionName, TributaryError, type Logger } from '@tributary/common';
import type { LogStore, PreviousStop, StopKind } from '@tributary/log';
import type { BrokerHelloInput, LocalReplica, StopKindInput } from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import { CatchUp, type LeaderEnd } from './refill';

export type ToldStop = Pick<BrokerHelloInput, 'previousStop' | 'previousBrokerEpoch'>;
export type ToldLives = ToldStop & { readonly earlierBrokerEpochs: number[] };

/** Registrations of one process; older ones are forgotten, and seats of theirs judged as those of an earlier process. */
export const maxToldRegistrations = 100;

const wireKinds: Readonly<Record<StopKind, StopKindInput>> = {
  clean: 'STOPPED_CLEANLY',
  process: 'STOPPED_BY_PROCESS',
  machine: 'STOPPED_BY_MACHINE',
  first: 'NEVER_RAN',
};

export function toldStop({ kind, brokerEpoch }: PreviousStop): ToldStop {
  return { previousStop: wireKinds[kind], previousBrokerEpoch: brokerEpoch ?? 0 };
}

export class PreviousLife {
  private readonly cut: ReadonlySet<string>;
  private readonly catchUps = new Map<string, CatchUp>();
  private readonly complete = new Set<string>();
  private notedEpoch: number | undefined;
  /** Of this process, the newest last. */
  private readonly registrations: number[] = [];

  constructor(
    private readonly logStore: LogStore,
    private readonly logger: Logger,
  ) {
    this.cut = new Set(logStore.cutBelowHighWatermark);
  }

  get told(): ToldLives {
    const earlierBrokerEpochs = this.registrations.slice(0, -1);
    return { ...toldStop(this.logStore.previousStop), earlierBrokerEpochs };
  }

  /** This process, in another epoch than before. */
  registered(brokerEpoch: number): void {
    const { registrations } = this;
    if (registrations.at(-1) === brokerEpoch) return;
    registrations.push(brokerEpoch);
    // The present one is told elsewhere.
    if (registrations.length > maxToldRegistrations + 1) registrations.shift();
  }

  /** Of a registration that no controller has imaged, nothing is to be noted: -1. */
  get notedBrokerEpoch(): number {
    return this.notedEpoch ?? -1;
  }

  localReplica({ topic, topicId, partition, log, state }: Partition): LocalReplica {
    return {
      topic,
      topicId,
      partition,
      logEndOffset: log.logEndOffset,
      lastEpoch: log.lastBatchEpoch,
      highWatermark: state.highWatermark,
      cutBelowHighWatermark: this.cut.has(partitionName(topic, partition)),
      completeAgain: state.role === 'leader' || this.complete.has(partitionKey(topicId, partition)),
    };
  }

  /** A controller that was told has sent its image. */
  imaged(brokerEpoch: number | undefined): void {
    if (brokerEpoch === undefined || brokerEpoch === this.notedEpoch) return;
    this.notedEpoch = brokerEpoch;
    this.logStore.noteBrokerEpoch(brokerEpoch).catch((thrown: unknown) => {
      const error = TributaryError.from(thrown);
      this.logger.warn('the broker epoch cannot be noted on disk', { error });
    });
  }

  /** A controller that knew of the stop made it leader: what it has is the log. */
  led({ topicId, partition }: Partition): void {
    this.complete.add(partitionKey(topicId, partition));
  }

  /** As a follower, after what came with it was appended. */
  heard({ topicId, partition, log }: Partition, leader: LeaderEnd): void {
    const key = partitionKey(topicId, partition);
    if (this.complete.has(key)) return;
    const catchUp = this.catchUps.get(key) ?? new CatchUp();
    this.catchUps.set(key, catchUp);
    if (!catchUp.heard(leader, log.logEndOffset)) return;
    this.catchUps.delete(key);
    this.complete.add(key);
  }
}
