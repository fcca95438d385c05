/**
 * A controller among brokers that fail in every way, driven by a seed, with what each broker's log truly holds beside it:
 * what the controller decides is judged by that. Called by controller-properties.test.ts.
 *
 * Of a partition's log only its length counts: `committed` is what is acknowledged, `has` what a broker has of it. Machine
 * crashes shorten it, becoming in sync completes it, and a loss that was decided on makes all other logs worthless.
 */
import { assert, type Random } from '@tributary/common';
import type {
  StoredPartitionState,
  TopicRecord,
  VersionedPartitionState,
} from '@tributary/coordination';
import type { AlterPartitionRequest, LocalReplica, StopReplica } from '@tributary/protocol';
import { controllerRequest } from './asked-command.fixture';
import type { ControllerEffect, KeyedWrite } from './controller-effect';
import type { ControllerEvent, ToldPast } from './controller-event';
import { registered, settings } from './controller-script.fixture';
import type { ControllerState } from './controller-state';
import { sameSet } from './replica-move';
import { initialState, step } from './step';

type Stop = 'clean' | 'process' | 'machine';

interface Machine {
  life: number;
  isUp: boolean;
  isLinked: boolean;
  /** How the process before this one ended, and in which noted life, as its disks say. */
  found: { stop: Stop | 'first'; epoch: number };
  /** The present process has noted its registration. */
  notedEpoch: number | undefined;
  /** Broker epochs that the present process has had before. */
  earlierEpochs: number[];
  isCompleteAgain: boolean[];
  /** Broker epochs of lives that a machine crash ended. */
  readonly machineCrashes: number[];
  readonly has: number[];
}

const topic = 'orders';
const topicId = 'orders-id';
const severity = { first: 0, clean: 1, process: 2, machine: 3 } as const;
const told = {
  first: 'NEVER_RAN',
  clean: 'STOPPED_CLEANLY',
  process: 'STOPPED_BY_PROCESS',
  machine: 'STOPPED_BY_MACHINE',
} as const;

export class ControllerWorld {
  readonly machines = new Map<number, Machine>();
  readonly counts = { losses: 0, elections: 0, moves: 0, deletions: 0, refusals: 0, owed: 0 };
  record: TopicRecord;
  readonly store: (VersionedPartitionState | undefined)[];
  private readonly committed: number[];
  /** What the leader of a state had when it was decided on, and whether it was alive, which nobody can know. */
  private readonly hadThen = new WeakMap<StoredPartitionState, { had: number; isAlive: boolean }>();
  private state: ControllerState;
  private writes: KeyedWrite[] = [];
  private updates: Extract<ControllerEffect, { type: 'update-topic' }>[] = [];
  private stops: { brokerId: number; request: StopReplica }[] = [];
  private alterations: { brokerId: number; request: AlterPartitionRequest }[] = [];
  private term = 1;

  constructor(
    private readonly random: Random,
    brokers: number,
    assignment: readonly (readonly number[])[],
  ) {
    for (let id = 1; id <= brokers; id += 1) {
      const has = assignment.map(() => 0);
      const isCompleteAgain = assignment.map(() => false);
      const found = { stop: 'first', epoch: 0 } as const;
      const process = {
        life: 0,
        isUp: true,
        isLinked: true,
        notedEpoch: undefined,
        earlierEpochs: [],
      };
      this.machines.set(id, { ...process, found, isCompleteAgain, machineCrashes: [], has });
    }
    this.record = { topic, topicId, assignment, configs: {}, version: 0 };
    this.store = assignment.map(() => undefined);
    this.committed = assignment.map(() => 0);
    this.state = initialState(1, this.term);
    this.takeOffice();
  }

  get partitions(): number {
    return this.store.length;
  }

  // ---- what may happen ----

  crash(id: number, stop: Stop): void {
    const machine = this.machine(id);
    if (!machine.isUp) return;
    machine.isUp = false;
    const { found, notedEpoch } = machine;
    const worst = severity[stop] >= severity[found.stop] ? stop : found.stop;
    machine.found =
      notedEpoch === undefined ? { stop: worst, epoch: found.epoch } : { stop, epoch: notedEpoch };
    machine.notedEpoch = undefined;
    machine.earlierEpochs = [];
    machine.isCompleteAgain = machine.isCompleteAgain.map(() => false);
    if (stop === 'machine') {
      machine.machineCrashes.push(epoch(id, machine));
      machine.has.forEach((has, p) => (machine.has[p] = Math.min(has, this.below(has + 1))));
    }
    if (this.coin() && machine.isLinked) {
      this.event({ type: 'stream-down', ...life(id, machine), why: 'broken' });
      this.event({ type: 'refused', ...life(id, machine), why: 'refused' });
    }
    machine.isLinked = false;
  }

  /** Of one that is down: its registration ends. */
  expire(): void {
    this.registryChanged();
  }

  start(id: number): void {
    const machine = this.machine(id);
    if (machine.isUp) return;
    machine.isUp = true;
    machine.life += 1;
    if (this.coin()) this.registryChanged();
  }

  /** The session of a living process ends, and it registers anew. */
  reregister(id: number): void {
    const machine = this.machine(id);
    if (!machine.isUp) return;
    machine.isLinked = false;
    if (this.coin()) {
      machine.isUp = false;
      this.registryChanged();
      machine.isUp = true;
    }
    machine.earlierEpochs.push(epoch(id, machine));
    machine.life += 1;
    this.registryChanged();
  }

  /** The controller reaches it: hello, image, acknowledgement. */
  link(id: number, isAcknowledged = true): void {
    const machine = this.machine(id);
    const known = this.state.brokers.get(id)?.registration.brokerEpoch;
    if (!machine.isUp || known !== epoch(id, machine)) return;
    machine.isLinked = true;
    this.event({ type: 'stream-up', ...life(id, machine), hello: this.hello(machine) });
    if (this.coin() || isAcknowledged) machine.notedEpoch = epoch(id, machine);
    if (!isAcknowledged) return;
    const { sequence } = this.state;
    this.event({ type: 'acknowledged', ...life(id, machine), sequence });
  }

  /** The coordinator answers the oldest write. */
  writeDone(): void {
    const write = this.writes.shift();
    if (!write) return;
    const { partition } = write.state;
    const before = this.store[partition];
    const isExpected = before?.partitionEpoch === write.expectedPartitionEpoch;
    if (isExpected) this.apply(write, before);
    const current = this.store[partition];
    const result =
      isExpected && current
        ? ({ ok: true, state: current } as const)
        : ({ ok: false, current } as const);
    this.event({ type: 'states-written', outcomes: [{ topicId, partition, result }] });
  }

  /** Somebody writes a state again as it is: the next write of the controller is lost. */
  disturb(partition: number): void {
    const before = this.store[partition];
    if (before) this.store[partition] = { ...before, partitionEpoch: before.partitionEpoch + 1 };
  }

  updateDone(): void {
    const update = this.updates.shift();
    if (!update) return;
    this.judgeOwed(update.after);
    this.record = { ...update.after, version: (this.record.version ?? 0) + 1 };
    this.event({ type: 'topic-updated', record: this.record });
  }

  move(partition: number, replicas: readonly number[], cancel: boolean): void {
    const one = { topic, topicId: '', partition, replicas: [...replicas], cancel };
    this.command({
      reassignPartitions: { reassignments: [{ ...one, replicas: cancel ? [] : one.replicas }] },
    });
    this.counts.moves += 1;
  }

  elect(): void {
    this.command({ electLeaders: { kind: 'ELECTION_KIND_PREFERRED' } });
  }

  /** The leader appends a record, and all in-sync replicas have it. */
  produce(partition: number): void {
    const stored = this.store[partition];
    const replicas = stored && this.members(stored);
    if (!stored || !replicas || stored.isr.length < 2) return;
    if (this.writes.some(({ state }) => state.partition === partition)) return;
    if (!replicas.every((id) => this.isSeated(stored, id) || this.isAsked(stored, id))) return;
    const next = (this.committed[partition] ?? 0) + 1;
    this.committed[partition] = next;
    for (const id of replicas) this.machine(id).has[partition] = next;
  }

  /** The leader asks for another ISR: without `id`, or with it after it has caught up. */
  ask(partition: number, id: number): void {
    const stored = this.store[partition];
    if (!stored || stored.leader < 0 || stored.leader === id) return;
    if (!this.isSeated(stored, stored.leader)) return;
    if (this.alterations.some(({ request }) => request.partition === partition)) return;
    const machine = this.machine(id);
    const isIn = stored.isr.includes(id);
    if (!isIn && (!machine.isUp || !(stored.replicas ?? []).includes(id))) return;
    if (!isIn) machine.has[partition] = this.machine(stored.leader).has[partition] ?? 0;
    if (!isIn) machine.isCompleteAgain[partition] = true;
    const wanted = isIn ? stored.isr.filter((each) => each !== id) : [...stored.isr, id];
    const isr = wanted.map((each) => ({
      brokerId: each,
      brokerEpoch: epoch(each, this.machine(each)),
    }));
    const { leader: brokerId, leaderEpoch } = stored;
    // As the controller has told it.
    const known = this.state.topics.get(topicId)?.partitions[partition]?.stored;
    const { partitionEpoch = 0 } = known ?? {};
    const brokerEpoch = epoch(brokerId, this.machine(brokerId));
    const who = { requestId: 1, brokerEpoch, topic, topicId, partition };
    const request = { ...who, leaderEpoch, partitionEpoch, isr, acceptLoss: false };
    this.alterations.push({ brokerId, request });
  }

  askDelivered(): void {
    const alter = this.alterations.shift();
    if (alter) this.event({ type: 'alter-partition', ...alter });
  }

  stopDelivered(): void {
    const stop = this.stops.shift();
    if (!stop) return;
    const { brokerId, request } = stop;
    const machine = this.machine(brokerId);
    if (!machine.isUp || epoch(brokerId, machine) !== request.brokerEpoch) return;
    const { partition } = request;
    const stored = this.store[partition];
    // KIP-570: it takes part again, in a newer leader epoch, of which it heard on the same stream.
    if (stored?.replicas?.includes(brokerId) && request.leaderEpoch < stored.leaderEpoch) return;
    assert(!stored?.isr.includes(brokerId), `data of broker ${brokerId} in the ISR is deleted`);
    assert(!stored?.eligibleLeaders.includes(brokerId), `an eligible leader is deleted`);
    machine.has[partition] = 0;
    this.counts.deletions += 1;
    const result = { topicId, partition, dataDeleted: true, error: null };
    this.event({ type: 'replicas-stopped', ...life(brokerId, machine), results: [result] });
  }

  timer(timer: 'deletion-retry' | 'preferred-leaders' | 'preferred-lot'): void {
    this.event({ type: 'timer', timer });
  }

  endProbations(): void {
    for (const [brokerId, { round }] of this.state.suspicions) {
      this.event({ type: 'suspect-stable', brokerId, round });
    }
  }

  /** Another controller: what was on its way is written, or not. */
  takeOffice(): void {
    for (const write of this.writes) {
      const before = this.store[write.state.partition];
      if (this.coin() && before?.partitionEpoch === write.expectedPartitionEpoch)
        this.apply(write, before);
    }
    for (const { before, after } of this.updates) {
      if (this.coin() && before.version === this.record.version) {
        this.record = { ...after, version: (before.version ?? 0) + 1 };
      }
    }
    this.writes = [];
    this.updates = [];
    this.stops = [];
    this.term += 1;
    this.state = initialState(1, this.term);
    const states = this.store.flatMap((stored) => stored ?? []);
    const topics = [{ record: this.record, states }];
    const context = { brokers: this.registry(), topics, deletions: [], brokerSettings: [] };
    this.event({ type: 'elected', context });
    for (const [id, machine] of this.machines) {
      machine.isLinked = false;
      if (machine.isUp && this.below(4) > 0) this.link(id);
    }
    this.event({ type: 'timer', timer: 'stream-grace' });
  }

  /** Brokers that have data of a partition that is not assigned to them. */
  strays(): string[] {
    return this.record.assignment.flatMap((assigned, partition) =>
      [...this.machines]
        .filter(([id, { has }]) => !assigned.includes(id) && (has[partition] ?? 0) > 0)
        .map(([id]) => `${partition} on ${id}`),
    );
  }

  get isQuiet(): boolean {
    return (
      this.writes.length + this.updates.length + this.stops.length + this.alterations.length === 0
    );
  }

  /** A broker that is registered, and whose last registration this controller knows. */
  registryChanged(): void {
    this.event({ type: 'brokers-changed', brokers: this.registry() });
  }

  isUp(id: number): boolean {
    return this.machine(id).isUp;
  }

  // ---- inside ----

  private event(event: ControllerEvent): void {
    const { state, effects } = step(this.state, event, settings);
    this.state = state;
    for (const effect of effects) this.execute(effect);
  }

  private execute(effect: ControllerEffect): void {
    if (effect.type === 'write-states') {
      for (const write of effect.writes) {
        this.judge(write);
        this.writes.push(write);
      }
    } else if (effect.type === 'update-topic') {
      this.updates.push(effect);
    } else if (effect.type === 'publish') {
      for (const [brokerId, requests] of effect.publication.stopReplicas) {
        this.stops.push(...requests.map((request) => ({ brokerId, request })));
      }
    } else if (effect.type === 'answer-alteration') {
      if (effect.outcome.error) this.counts.refusals += 1;
    }
    assert(effect.type !== 'resign', 'the controller resigned');
  }

  /** Nobody is to delete what is assigned to it. */
  private judgeOwed({ owed = new Map<number, number[]>(), assignment }: TopicRecord): void {
    for (const [partition, ids] of owed) {
      const both = ids.filter((id) => assignment[partition]?.includes(id));
      assert(both.length === 0, `brokers ${both.join()} owe what is assigned to them`);
      this.counts.owed += 1;
    }
  }

  /** What holds of every state that a controller wants to write. */
  private judge({ state, expectedPartitionEpoch }: KeyedWrite): void {
    const { leader, isr, eligibleLeaders, replicas = [] } = state;
    if (leader >= 0) {
      const had = this.machine(leader).has[state.partition] ?? 0;
      this.hadThen.set(state, { had, isAlive: this.isSeated(state, leader) });
    }
    const says = JSON.stringify({ ...state, seatEpochs: [...(state.seatEpochs ?? [])] });
    assert(isr.length > 0, `the ISR is empty: ${says}`);
    assert(new Set(isr).size === isr.length, `the ISR is no set: ${says}`);
    assert(leader === -1 || isr.includes(leader), `the leader is not in the ISR: ${says}`);
    assert(
      isr.every((id) => replicas.includes(id)),
      `the ISR is no part of the replicas: ${says}`,
    );
    assert(!eligibleLeaders.some((id) => isr.includes(id)), `eligible and in sync: ${says}`);
    assert(
      isr.every((id) => leader < 0 || state.seatEpochs?.has(id)),
      `a seat of no life: ${says}`,
    );
    const stored = this.state.topics.get(topicId)?.partitions[state.partition]?.stored;
    if (!stored || stored.partitionEpoch !== expectedPartitionEpoch) return;
    const isOther =
      stored.leader !== leader ||
      (leader >= 0 && stored.seatEpochs?.get(leader) !== state.seatEpochs?.get(leader)) ||
      !sameSet(stored.replicas ?? [], replicas);
    const grown = state.leaderEpoch - stored.leaderEpoch;
    assert(grown === (isOther ? 1 : 0), `leader epoch ${stored.leaderEpoch} before ${says}`);
  }

  private apply(write: KeyedWrite, before: VersionedPartitionState | undefined): void {
    const { state } = write;
    const { partition, leader } = state;
    this.store[partition] = { ...state, partitionEpoch: before ? before.partitionEpoch + 1 : 0 };
    if (leader < 0 || !before || before.leaderEpoch === state.leaderEpoch) return;
    this.counts.elections += 1;
    const machine = this.machine(leader);
    const { had = 0, isAlive: wasAlive = false } = this.hadThen.get(state) ?? {};
    const isLoss = had < (this.committed[partition] ?? 0);
    const safe = this.safeMembers(before);
    if (isLoss && wasAlive) {
      const says = JSON.stringify({ ...before, seatEpochs: [...(before.seatEpochs ?? [])] });
      assert(
        safe.length === 0,
        `${leader} leads with a loss; nothing lost ${safe.join()}: ${says}`,
      );
    }
    if (isLoss && safe.length === 0) this.takeLoss(partition, leader, had);
    // It may have died since then.
    const isAlive = machine.isUp && state.seatEpochs?.get(leader) === epoch(leader, machine);
    if (isAlive) machine.isCompleteAgain[partition] = true;
  }

  /** Those whose machines did not go down since they got their seats: where there are any, nothing may be lost. */
  private safeMembers({ isr, eligibleLeaders, seatEpochs }: VersionedPartitionState): number[] {
    return [...new Set([...isr, ...eligibleLeaders])].filter((id) => {
      const given = seatEpochs?.get(id) ?? 0;
      return !this.machine(id).machineCrashes.some((crashed) => crashed >= given);
    });
  }

  private takeLoss(partition: number, leader: number, had: number): void {
    this.counts.losses += 1;
    this.committed[partition] = had;
    for (const [id, { has }] of this.machines) if (id !== leader) has[partition] = 0;
  }

  private command(asked: Parameters<typeof controllerRequest>[0]): void {
    const through = [...this.machines].find(([, { isUp, isLinked }]) => isUp && isLinked);
    if (!through) return;
    const [brokerId, machine] = through;
    const request = controllerRequest(asked, 1, epoch(brokerId, machine));
    this.event({ type: 'command', brokerId, request });
  }

  private hello({ found, earlierEpochs, isCompleteAgain, has }: Machine): ToldPast {
    const replicas = has.flatMap((logEndOffset, partition): LocalReplica[] => {
      // It may never have heard that it has one.
      if (logEndOffset === 0) return [];
      const replica = { topic, topicId, partition, logEndOffset, lastEpoch: 0, highWatermark: 0 };
      const completeAgain = isCompleteAgain[partition] ?? false;
      return [{ ...replica, cutBelowHighWatermark: false, completeAgain }];
    });
    const past = { previousStop: told[found.stop], previousBrokerEpoch: found.epoch };
    return { replicas, ...past, earlierBrokerEpochs: earlierEpochs };
  }

  /** Those whose acknowledgement the leader waits for. */
  private members({ partition, isr, leaderEpoch }: VersionedPartitionState): number[] {
    const asked = this.alterations.filter(
      ({ request }) => request.partition === partition && request.leaderEpoch === leaderEpoch,
    );
    const joining = asked.flatMap(({ request }) => request.isr.map(({ brokerId }) => brokerId));
    return [...new Set([...isr, ...joining])];
  }

  private isSeated(stored: StoredPartitionState, id: number): boolean {
    const machine = this.machine(id);
    return machine.isUp && stored.seatEpochs?.get(id) === epoch(id, machine);
  }

  private isAsked({ partition }: VersionedPartitionState, id: number): boolean {
    const machine = this.machine(id);
    return this.alterations.some(
      ({ request }) =>
        request.partition === partition &&
        machine.isUp &&
        request.isr.some((m) => m.brokerId === id && m.brokerEpoch === epoch(id, machine)),
    );
  }

  private registry() {
    return [...this.machines]
      .filter(([, { isUp }]) => isUp)
      .map(([id, { life: number }]) => registered(id, number));
  }

  private machine(id: number): Machine {
    const machine = this.machines.get(id);
    assert(machine !== undefined, `no broker ${id}`);
    return machine;
  }

  private coin(): boolean {
    return this.below(2) === 0;
  }

  private below(count: number): number {
    return Math.floor(this.random.next() * count);
  }
}

function epoch(id: number, { life: number }: Machine): number {
  return registered(id, number).brokerEpoch;
}

function life(id: number, machine: Machine): { brokerId: number; brokerEpoch: number } {
  return { brokerId: id, brokerEpoch: epoch(id, machine) };
}
