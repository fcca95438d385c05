/**
 * Who should lead a partition and who is in its ISR, given what is stored and which brokers are well. Pure
 * and idempotent: asked again after every change; undefined means that all is as it should be.
 *
 * Rules (kafka-semantics 1.4, 2.4, 2.8): the first replica in assignment order that is eligible and in the
 * ISR; else one of the eligible leaders (they left below min ISR, so the high watermark has been frozen
 * since and they are complete). The ISR is never emptied: where nobody can lead, it stays as it is, so
 * that whichever member returns first may lead. The leader epoch grows exactly when the leader changes;
 * taking a dead follower out does not need it (KAFKA-15021), as the partition epoch fences what is in flight.
 * A broker that died and returned unseen, between two controllers, is treated as if it had been seen: it leaves the
 * ISR, or, where no other can lead, leads in a new epoch; in the old one its followers may have more than it.
 * A replica that is offline (its disk failed, or it is damaged) is treated as if its broker were gone, and is no
 * eligible leader either: what its log will hold when it is opened again, nobody knows.
 */
import { partitionKey } from '@tributary/common';
import type { StoredPartitionState } from '@tributary/coordination';
import { isTrusted } from './broker-standing';
import {
  isEligible,
  isNewLife,
  stays,
  type BrokerState,
  type PartitionEntry,
  type TopicState,
} from './controller-state';

type Brokers = ReadonlyMap<number, BrokerState>;

export interface Decision {
  readonly state: StoredPartitionState;
  readonly why: string;
}

export interface PartitionContext {
  readonly topic: TopicState;
  readonly partition: number;
  readonly brokers: Brokers;
  readonly controllerEpoch: number;
}

export function decidePartition(context: PartitionContext): Decision | undefined {
  const entry = context.topic.partitions[context.partition];
  if (!entry) return undefined;
  const { topicId } = context.topic.record;
  const brokers = serving(context.brokers, topicId, context.partition);
  if (!entry.stored) return firstState({ ...context, brokers }, entry);
  const { leader, isr } = entry.stored;
  if (holdsSeat(entry, leader, brokers)) {
    const members = isr.filter((id) => holdsSeat(entry, id, brokers));
    return changed(context, entry, leader, members, 'replica gone');
  }
  const next = candidate(entry, brokers);
  if (next !== undefined) {
    // Where all died and returned, none is better than the others.
    const keeps = holdsSeat(entry, next, brokers) ? holdsSeat : hasStayed;
    const members = isr.filter((id) => keeps(entry, id, brokers));
    const newIsr = members.includes(next) ? members : [...members, next];
    return changed(context, entry, next, newIsr, whyMove(leader, brokers, context.brokers));
  }
  const isAlive = isTrusted(brokers.get(leader)?.standing ?? 'failed');
  if (leader >= 0 && isAlive) {
    // On its way out, but nobody can take over: it leads until it is gone.
    const rest = isr.filter((id) => id === leader || stays(brokers.get(id)));
    return changed(context, entry, leader, rest, 'replica gone');
  }
  return changed(context, entry, -1, isr, whyMove(leader, brokers, context.brokers));
}

/** Who could lead now, whoever does; undefined: nobody. */
export function leaderCandidate(
  topic: TopicState,
  partition: number,
  brokers: Brokers,
): number | undefined {
  const entry = topic.partitions[partition];
  return entry && candidate(entry, serving(brokers, topic.record.topicId, partition));
}

/** Those whose replica of this partition may serve; the very same map where all do. */
export function serving(brokers: Brokers, topicId: string, partition: number): Brokers {
  const all = [...brokers];
  if (all.every(([, { offline }]) => offline.size === 0)) return brokers;
  const key = partitionKey(topicId, partition);
  return new Map(all.filter(([, { offline }]) => !offline.has(key)));
}

/** New topic: the first eligible replica leads, all eligible ones are in sync, epoch 0. */
function firstState(context: PartitionContext, entry: PartitionEntry): Decision | undefined {
  const { record } = context.topic;
  const isr = entry.replicas.filter((id) => isEligible(context.brokers.get(id)));
  const leader = isr[0];
  if (leader === undefined) return undefined;
  const state: StoredPartitionState = {
    topic: record.topic,
    topicId: record.topicId,
    partition: context.partition,
    leader,
    leaderEpoch: 0,
    controllerEpoch: context.controllerEpoch,
    isr,
    eligibleLeaders: [],
  };
  return { state, why: 'new partition' };
}

function candidate(entry: PartitionEntry, brokers: Brokers): number | undefined {
  const { isr = [], eligibleLeaders = [] } = entry.stored ?? {};
  const eligible = entry.replicas.filter((id) => isEligible(brokers.get(id)));
  const safe = eligible.filter((id) => holdsSeat(entry, id, brokers));
  return (
    safe.find((id) => isr.includes(id)) ??
    safe.find((id) => eligibleLeaders.includes(id)) ??
    eligible.find((id) => isr.includes(id)) ??
    eligible.find((id) => eligibleLeaders.includes(id))
  );
}

/** The very process that the stored state means, trusted and not on its way out. */
function holdsSeat(entry: PartitionEntry, brokerId: number, brokers: Brokers): boolean {
  const broker = brokers.get(brokerId);
  return stays(broker) && !(entry.stored && isNewLife(entry.stored, broker));
}

function hasStayed(_entry: PartitionEntry, brokerId: number, brokers: Brokers): boolean {
  return stays(brokers.get(brokerId));
}

function changed(
  context: PartitionContext,
  entry: PartitionEntry,
  leader: number,
  isr: readonly number[],
  why: string,
): Decision | undefined {
  const { stored } = entry;
  if (!stored) return undefined;
  const isNewLeader = stored.leader !== leader || isNewLife(stored, context.brokers.get(leader));
  const eligibleLeaders = nextEligibleLeaders(context, entry, isr);
  const isSame =
    sameMembers(stored.isr, isr) && eligibleLeaders.length >= stored.eligibleLeaders.length;
  if (!isNewLeader && isSame) return undefined;
  const state: StoredPartitionState = {
    topic: stored.topic,
    topicId: stored.topicId,
    partition: stored.partition,
    leader,
    leaderEpoch: isNewLeader ? stored.leaderEpoch + 1 : stored.leaderEpoch,
    controllerEpoch: context.controllerEpoch,
    isr: [...isr],
    eligibleLeaders,
  };
  return { state, why };
}

/** KIP-966: who left an ISR that is now below min ISR may still be elected. */
export function nextEligibleLeaders(
  { topic, partition, brokers }: Omit<PartitionContext, 'controllerEpoch'>,
  entry: PartitionEntry,
  newIsr: readonly number[],
): number[] {
  if (newIsr.length >= topic.minIsr || !entry.stored) return [];
  const { isr, eligibleLeaders } = entry.stored;
  const well = serving(brokers, topic.record.topicId, partition);
  return entry.replicas.filter(
    (id) =>
      (isr.includes(id) || eligibleLeaders.includes(id)) &&
      !newIsr.includes(id) &&
      (well.has(id) || !brokers.has(id)),
  );
}

export function sameMembers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}

function whyMove(leader: number, well: Brokers, brokers: Brokers): string {
  if (leader < 0) return 'no leader';
  const broker = brokers.get(leader);
  if (broker && !well.has(leader)) return `the replica of leader ${leader} is offline`;
  if (!broker) return `leader ${leader} is not registered`;
  if (broker.leaving) return `leader ${leader} shuts down`;
  if (stays(broker)) return `leader ${leader} has started anew`;
  return `leader ${leader} is ${broker.standing}`;
}
