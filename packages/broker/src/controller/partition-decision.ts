/**
 * Who should lead a partition, who is in its ISR and who takes part, given what is stored and which brokers are well.
 * Pure and idempotent: asked again after every change; undefined means that all is as it should be.
 *
 * Rules (kafka-semantics 1.4, 2.4, 2.8): the first replica in assignment order that is eligible and in the
 * ISR; else one of the eligible leaders (they left below min ISR, so the high watermark has been frozen
 * since and they are complete); of each kind those on probation (suspicion-duties.ts) after the others. The ISR is never
 * emptied: where nobody can lead, it stays as it is, so that whichever member returns first may lead. The leader epoch grows exactly when the leader or those who take part
 * change; taking a dead follower out does not need it (KAFKA-15021), as the partition epoch fences what is in flight.
 * A broker that returned in another life (partition-seats.ts) leaves the ISR, or, where no other can lead, leads in a new
 * epoch; in the old one its followers may have more than it. One whose log is in doubt leads only when all members have
 * returned with logs in doubt: then the longest.
 * A replica that is offline (its disk failed, or it is damaged) is treated as if its broker were gone, and is no
 * eligible leader either: what its log will hold when it is opened again, nobody knows.
 */
import type { StoredPartitionState, VersionedPartitionState } from '@tributary/coordination';
import {
  isEligible,
  stays,
  steadyFirst,
  type PartitionEntry,
  type TopicState,
} from './controller-state';
import { longest, PartitionSeats, servingBroker, type Brokers } from './partition-seats';
import { partitionKey } from '@tributary/common';
import { isFinishing, moveOf, sameSet, takingPart, untold } from './replica-move';

export interface Decision {
  readonly state: StoredPartitionState;
  readonly why: string;
}

export interface PartitionContext {
  readonly topic: TopicState;
  readonly partition: number;
  readonly brokers: Brokers;
  readonly controllerEpoch: number;
  /** They lead only where no other can. */
  readonly drained: ReadonlySet<number>;
  /** A move of replicas that waits for its turn may begin. */
  readonly mayStartMove: boolean;
}

interface Wish {
  readonly leader: number;
  readonly isr: readonly number[];
  readonly why: string;
}

export function decidePartition(context: PartitionContext): Decision | undefined {
  const entry = context.topic.partitions[context.partition];
  if (!entry) return undefined;
  const { stored } = entry;
  if (!stored) return firstState(context, entry);
  if (isWell(context, entry, stored)) return undefined;
  const seats = new PartitionSeats(context.topic, stored, context.brokers);
  const wish = elect(context, entry, stored, seats);
  const { replicas, ...led } = move(context, entry, seats, wish);
  return changed(context, entry, seats, led, replicas);
}

/**
 * Nothing can be to do: there is a leader, and everybody holds the seat that the state means. Asked for every partition
 * after every change, so it makes nothing.
 */
function isWell(
  { brokers, drained }: PartitionContext,
  entry: PartitionEntry,
  stored: VersionedPartitionState,
): boolean {
  const { leader, isr, eligibleLeaders, seatEpochs, replicas } = stored;
  if (leader < 0 || eligibleLeaders.length > 0 || drained.has(leader)) return false;
  if (entry.adding.length > 0 || entry.removing.length > 0 || !seatEpochs || !replicas)
    return false;
  if (!sameSet(replicas, entry.replicas)) return false;
  return isr.every((id) => {
    const broker = brokers.get(id);
    if (broker?.offline.size !== 0 || !stays(broker)) return false;
    return broker.registration.brokerEpoch === seatEpochs.get(id);
  });
}

/** This one leads, as was decided elsewhere: in sync, or alone where nobody in sync can. */
export function ledBy(
  context: PartitionContext,
  leader: number,
  why: string,
): Decision | undefined {
  const entry = context.topic.partitions[context.partition];
  if (!entry?.stored) return undefined;
  const seats = new PartitionSeats(context.topic, entry.stored, context.brokers);
  const held = entry.stored.isr.filter((id) => seats.holds(id));
  const isr = held.includes(leader) ? held : [leader];
  return changed(context, entry, seats, { leader, isr, why }, takingPart(entry));
}

/** Who could lead now without any loss, whoever does; undefined: nobody. */
export function leaderCandidate(
  topic: TopicState,
  partition: number,
  brokers: Brokers,
): number | undefined {
  const entry = topic.partitions[partition];
  if (!entry?.stored) return undefined;
  const seats = new PartitionSeats(topic, entry.stored, brokers);
  return candidate(entry, entry.stored, seats, noBrokers);
}

const noBrokers: ReadonlySet<number> = new Set();

/** New topic: the first eligible replica leads, all eligible ones are in sync, epoch 0. */
function firstState(context: PartitionContext, entry: PartitionEntry): Decision | undefined {
  const { record } = context.topic;
  const { partition, brokers } = context;
  const key = partitionKey(record.topicId, partition);
  const replicas = takingPart(entry);
  const isr = replicas.filter((id) => isEligible(servingBroker(brokers, id, key)));
  const able = steadyFirst(isr, brokers);
  const leader = able.find((id) => !context.drained.has(id)) ?? able[0];
  if (leader === undefined) return undefined;
  const state: StoredPartitionState = {
    topic: record.topic,
    topicId: record.topicId,
    partition,
    leader,
    leaderEpoch: 0,
    controllerEpoch: context.controllerEpoch,
    isr,
    eligibleLeaders: [],
    replicas,
    seatEpochs: new Map(isr.map((id) => [id, brokers.get(id)?.registration.brokerEpoch ?? 0])),
  };
  return { state, why: 'new partition' };
}

function elect(
  context: PartitionContext,
  entry: PartitionEntry,
  stored: VersionedPartitionState,
  seats: PartitionSeats,
): Wish {
  const { leader, isr } = stored;
  if (seats.holds(leader)) {
    const held = isr.filter((id) => seats.holds(id));
    const next = context.drained.has(leader) ? successor(context, entry, seats, held) : undefined;
    if (next === undefined) return { leader, isr: held, why: 'replica gone' };
    return { leader: next, isr: held, why: `leader ${leader} is drained` };
  }
  const why = whyMove(leader, seats, context.brokers);
  const next = candidate(entry, stored, seats, context.drained);
  if (next !== undefined) {
    // Where all died and returned, none is better than the others.
    const isHeld = seats.holds(next);
    const members = isr.filter((id) => (isHeld ? seats.holds(id) : isComplete(seats, id)));
    return { leader: next, isr: members.includes(next) ? members : [...members, next], why };
  }
  if (leader >= 0 && seats.isSameLife(leader)) {
    // On its way out, but nobody can take over: it leads until it is gone.
    const rest = isr.filter((id) => id === leader || seats.holds(id));
    return { leader, isr: rest, why: 'replica gone' };
  }
  return electInDoubt(context, entry, stored, seats) ?? { leader: -1, isr, why };
}

function candidate(
  entry: PartitionEntry,
  stored: VersionedPartitionState,
  seats: PartitionSeats,
  drained: ReadonlySet<number>,
): number | undefined {
  const { isr, eligibleLeaders } = stored;
  // KAFKA-9672: the ISR may hold ids outside the assignment.
  const order = [...entry.replicas, ...isr.filter((id) => !entry.replicas.includes(id))];
  const ready = order.filter((id) => seats.isReady(id));
  for (const worth of ['held', 'returned'] as const) {
    for (const group of [isr, eligibleLeaders]) {
      const all = ready.filter((id) => group.includes(id) && seats.worth(id) === worth);
      const able = seats.steadyFirst(all);
      const next = able.find((id) => !drained.has(id)) ?? able[0];
      if (next !== undefined) return next;
    }
  }
  return undefined;
}

/** In place of a leader that could lead on. */
function successor(
  { drained }: PartitionContext,
  entry: PartitionEntry,
  seats: PartitionSeats,
  held: readonly number[],
): number | undefined {
  const able = held.filter((id) => seats.isReady(id) && !drained.has(id));
  return seats.steadyFirst(entry.replicas).find((id) => able.includes(id));
}

function isComplete(seats: PartitionSeats, brokerId: number): boolean {
  const worth = seats.worth(brokerId);
  return worth === 'held' || worth === 'returned';
}

/** Nobody is left whose log is complete for sure. */
function electInDoubt(
  { topic }: PartitionContext,
  entry: PartitionEntry,
  stored: VersionedPartitionState,
  seats: PartitionSeats,
): Wish | undefined {
  const members = [...new Set([...stored.isr, ...stored.eligibleLeaders])];
  if (members.every((id) => seats.worth(id) === 'doubtful')) {
    const best = longest(seats, members);
    if (best === undefined || !seats.isReady(best)) return undefined;
    const why = `all members returned with logs in doubt; the longest is that of ${described(seats, best)}`;
    return { leader: best, isr: [best], why };
  }
  if (!topic.mayElectUnclean) return undefined;
  const best = uncleanCandidate(entry, seats);
  return best === undefined
    ? undefined
    : { leader: best, isr: [best], why: whyUnclean(stored, seats, best) };
}

/** Whoever has most of those that live, in sync or not. */
export function uncleanCandidate(entry: PartitionEntry, seats: PartitionSeats): number | undefined {
  return longest(
    seats,
    takingPart(entry).filter((id) => seats.isReady(id)),
  );
}

export function whyUnclean(
  { isr, eligibleLeaders }: VersionedPartitionState,
  seats: PartitionSeats,
  chosen: number,
): string {
  const members = [...isr, ...eligibleLeaders].join(',');
  return `unclean: none of ${members} can lead, and what only they have is lost; chosen is ${described(seats, chosen)}`;
}

function described(seats: PartitionSeats, brokerId: number): string {
  const { lastEpoch, logEndOffset } = seats.lengthOf(brokerId);
  return `broker ${brokerId}, which told of ${logEndOffset} as its log end in epoch ${lastEpoch}`;
}

/** KIP-455: first the new ones are told of; when they are in sync, those that go are left out. */
function move(
  context: PartitionContext,
  entry: PartitionEntry,
  seats: PartitionSeats,
  wish: Wish,
): Wish & { readonly replicas: readonly number[] } {
  const { replicas } = entry;
  const plan = moveOf(entry);
  if (!plan) return { ...wish, replicas };
  const { target } = plan;
  if (isFinishing(entry, plan)) return { ...wish, replicas: target };
  const isr = wish.isr.filter((id) => target.includes(id));
  const leader = target.includes(wish.leader) ? wish.leader : successor(context, entry, seats, isr);
  if (wish.leader >= 0 && leader !== undefined && mayLeaveOut(context, wish, isr, plan)) {
    return { leader, isr, replicas: target, why: `its replicas are ${target.join(',')} now` };
  }
  const news = untold(entry, plan);
  const taking = takingPart(entry);
  if (news.length === 0 || !context.mayStartMove) return { ...wish, replicas: taking };
  const told = replicas.filter((id) => taking.includes(id) || news.includes(id));
  return { ...wish, replicas: told, why: `its replicas are moved to ${target.join(',')}` };
}

/** Where none joins, as after a cancelled move, it is enough that those who stay need not those who go. */
function mayLeaveOut(
  { topic }: PartitionContext,
  wish: Wish,
  staying: readonly number[],
  { target, joining }: { readonly target: readonly number[]; readonly joining: readonly number[] },
): boolean {
  if (joining.length > 0) return target.every((id) => wish.isr.includes(id));
  const enough = Math.min(topic.minIsr, target.length);
  return staying.length === wish.isr.length || staying.length >= enough;
}

function changed(
  context: PartitionContext,
  entry: PartitionEntry,
  seats: PartitionSeats,
  { leader, isr, why }: Wish,
  replicas: readonly number[],
): Decision | undefined {
  const { stored } = entry;
  if (!stored) return undefined;
  const isLed = leader >= 0;
  const isNewLeader = stored.leader !== leader || (isLed && !seats.isSameLife(leader));
  const isNewEpoch = isNewLeader || !sameSet(takingPart(entry), replicas);
  const eligibleLeaders = isLed
    ? nextEligibleLeaders(context.topic, stored, seats, isr, replicas)
    : stored.eligibleLeaders;
  const isSame =
    sameSet(stored.isr, isr) && eligibleLeaders.length >= stored.eligibleLeaders.length;
  if (!isNewEpoch && isSame) return undefined;
  const state: StoredPartitionState = {
    topic: stored.topic,
    topicId: stored.topicId,
    partition: stored.partition,
    leader,
    leaderEpoch: isNewEpoch ? stored.leaderEpoch + 1 : stored.leaderEpoch,
    controllerEpoch: context.controllerEpoch,
    isr: [...isr],
    eligibleLeaders,
    replicas: [...replicas],
    seatEpochs: new Map([...seats.epochs(isr, isLed), ...seats.epochs(eligibleLeaders, false)]),
  };
  return { state, why };
}

/** KIP-966: who left an ISR that is now below min ISR may still be elected, unless its log is in doubt. */
export function nextEligibleLeaders(
  { minIsr }: TopicState,
  { isr, eligibleLeaders }: VersionedPartitionState,
  seats: PartitionSeats,
  newIsr: readonly number[],
  replicas: readonly number[],
): number[] {
  if (newIsr.length >= minIsr) return [];
  const left = replicas.filter(
    (id) => (isr.includes(id) || eligibleLeaders.includes(id)) && !newIsr.includes(id),
  );
  return left.filter((id) => !seats.isOffline(id) && !isInDoubt(seats, id));
}

function isInDoubt(seats: PartitionSeats, brokerId: number): boolean {
  const worth = seats.worth(brokerId);
  return worth === 'doubtful' || worth === 'lost';
}

function whyMove(leader: number, seats: PartitionSeats, brokers: Brokers): string {
  if (leader < 0) return 'no leader';
  const broker = brokers.get(leader);
  if (seats.isOffline(leader)) return `the replica of leader ${leader} is offline`;
  if (!broker) return `leader ${leader} is not registered`;
  if (broker.leaving) return `leader ${leader} shuts down`;
  if (stays(broker)) return `leader ${leader} has started anew`;
  return `leader ${leader} is ${broker.standing}`;
}
