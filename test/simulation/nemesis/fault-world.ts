/** What faults act on, and the questions that they ask of the run. Made by SeedRun, handed to each fault. */
import type { Client } from '@tributary/client';
import { randomInteger, type Random } from '@tributary/common';
import type { SimulatedBroker, SimulatedCluster } from '@tributary/testkit';
import type { ClusterModel } from '../checker/cluster-model';
import type { PartitionModel, ReplicaModel } from '../checker/partition-model';
import { pick, type SeedPlan } from '../seed-plan';
import type { LoadTopic } from '../workload/load-writer';
import type { Supervisor } from './supervisor';

/** Chance to prefer whoever leads or controls over anybody. */
const PREFER_LEADER = 0.6;

export interface CoordinatorTrouble {
  staleReads: number;
  lostReplies: number;
  lateWatchMs: number;
  /** By session. */
  readonly lateRequests: Map<string, number>;
}

export interface FaultWorldParts {
  readonly plan: SeedPlan;
  readonly cluster: SimulatedCluster;
  readonly model: ClusterModel;
  readonly supervisor: Supervisor;
  /** Read by the ensemble at each of its turns. */
  readonly coordinatorTrouble: CoordinatorTrouble;
  readonly admin: Client;
  /** What is written to; partitions that are added join here. */
  readonly load: readonly LoadTopic[];
  /** Names of the machines of clients. */
  readonly clients: readonly string[];
}

export class FaultWorld {
  readonly random: Random;

  constructor(readonly parts: FaultWorldParts) {
    this.random = parts.cluster.random;
  }

  get cluster(): SimulatedCluster {
    return this.parts.cluster;
  }

  broker(brokerId: number): SimulatedBroker {
    return this.cluster.broker(brokerId);
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  between(least: number, most: number): number {
    return least + this.random.next() * (most - least);
  }

  /** A broker that runs and is not stopped; often one that leads, or the controller. undefined: none. */
  victim(): number | undefined {
    const running = this.runningBrokers();
    if (running.length === 0) return undefined;
    if (this.chance(PREFER_LEADER)) {
      const leaders = this.parts.model.living().map(({ stored }) => stored?.leader ?? -1);
      const { controllerId } = this.cluster;
      if (controllerId !== undefined) leaders.push(controllerId);
      const choices = leaders.filter((id) => running.includes(id));
      if (choices.length > 0) return pick(this.random, choices);
    }
    return pick(this.random, running);
  }

  /** Registered or about to be; not stopped. */
  runningBrokers(): number[] {
    return this.cluster.brokerIds.filter((id) => {
      const broker = this.broker(id);
      return broker.running && !broker.paused && broker.status !== undefined;
    });
  }

  /** Two machines, at least one of them a broker's. */
  pair(): [string, string] {
    const brokers = this.cluster.brokerIds.map((id) => `broker-${id}`);
    const first = this.victim();
    const a = first === undefined ? pick(this.random, brokers) : `broker-${first}`;
    const others = brokers.filter((name) => name !== a);
    const b = this.chance(0.25) ? pick(this.random, this.parts.clients) : pick(this.random, others);
    return [a, b];
  }

  /**
   * What a page cache loses is only kept by others: each partition must have another member that has all that is committed,
   * and nobody who has lost something and was not admitted anew.
   */
  mayLosePower(brokerId: number): boolean {
    return this.parts.model.living().every((model) => this.isSafeWithout(model, brokerId));
  }

  /** As above, of what lies on its disk, too. */
  mayLoseDisk(brokerId: number): boolean {
    const { model, supervisor } = this.parts;
    if (supervisor.badDisks.size > 0) return false;
    const keepsAll = (one: PartitionModel): boolean => this.hasOthers(one, brokerId);
    return model.living().every((one) => one.trueHighWatermark === 0 || keepsAll(one));
  }

  /** A flipped bit stands in its batches. */
  isRotten(model: PartitionModel, brokerId: number): boolean {
    return this.rotten(model, brokerId).some((name) => name.endsWith('.log'));
  }

  /**
   * As above, of one flipped bit in what it has of this partition. A good member may fall behind and leave: with min ISR 2
   * two that have flipped bits would commit what no good one has.
   */
  mayRot(model: PartitionModel, brokerId: number): boolean {
    if (model.trueHighWatermark === 0 || model.replicas.get(brokerId)?.failed) return false;
    const isWhole = (id: number): boolean => this.rotten(model, id).length === 0;
    return [...model.replicas.keys()].every(isWhole) && this.hasOthers(model, brokerId);
  }

  integer(below: number): number {
    return randomInteger(this.random, below);
  }

  private isSafeWithout(model: PartitionModel, brokerId: number): boolean {
    if (model.topic.config.flush === 'sync' || model.trueHighWatermark === 0) return true;
    return this.hasOthers(model, brokerId);
  }

  private hasOthers(model: PartitionModel, brokerId: number): boolean {
    if (!model.isMember(brokerId)) return true;
    const others = [...model.replicas.values()].filter((replica) => replica.brokerId !== brokerId);
    if (others.some(({ taintedIn }) => taintedIn !== undefined)) return false;
    return others.some((replica) => this.isGood(model, replica));
  }

  /** It counts, has all that is committed, and its disk neither lost nor changed anything of it, nor is about to. */
  private isGood(model: PartitionModel, { brokerId, log, failed }: ReplicaModel): boolean {
    if (failed || !model.isMember(brokerId) || log.end < model.trueHighWatermark) return false;
    return !this.isRotten(model, brokerId) && !this.broker(brokerId).disk.isArmed('datasync');
  }

  private rotten({ name }: PartitionModel, brokerId: number): string[] {
    return this.broker(brokerId).disk.rotten(`/data/${name}`);
  }
}
