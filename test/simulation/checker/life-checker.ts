/**
 * Looks into each life of each broker, through its log store and its partitions: every append, truncation and change of
 * state is entered into the model, which judges it at once. Judges R4, R7 and Z5 itself, R9 when a log is opened again, R10 when one is set aside.
 * What runs on in a dead process is not heard. Called by SimulatedBroker.
 */
import type { DataPlane, ReplicaManager } from '@tributary/broker';
import type { Log, LogStore, PartitionLog } from '@tributary/log';
import { splitBatches } from '@tributary/record';
import type { CrashOptions, LifeObserver, SimulatedDisk } from '@tributary/testkit';
import type { ClusterModel } from './cluster-model';
import { isSame, MarkedLog, markOf } from './marked-log';
import type { PartitionModel, ReplicaModel } from './partition-model';
import { watchCompaction, watchReads } from './watched-log';

type Partition = ReturnType<ReplicaManager['find']>;
type State = Partition['state'];

export interface LifeCounts {
  truncations: number;
  uncleanRestarts: number;
  restarts: number;
  leadersStarted: number;
  /** Passes that removed records. */
  compactions: number;
  /** Damaged replicas that began anew from their leaders. */
  refills: number;
}

export class LifeChecker implements LifeObserver {
  readonly counts: LifeCounts = {
    truncations: 0,
    uncleanRestarts: 0,
    restarts: 0,
    leadersStarted: 0,
    compactions: 0,
    refills: 0,
  };
  /** Of the current life of each broker. */
  readonly managers = new Map<number, ReplicaManager>();
  private readonly stores = new Map<number, LogStore>();
  /** Who lost un-synced bytes with the crash before this life. */
  private readonly lostPower = new Set<number>();

  constructor(
    private readonly cluster: ClusterModel,
    private readonly diskOf: (brokerId: number) => SimulatedDisk,
  ) {}

  logsOpened(brokerId: number, logs: LogStore, alive: () => boolean): void {
    this.stores.set(brokerId, logs);
    for (const model of this.cluster.all()) {
      const replica = model.replicas.get(brokerId);
      if (replica) replica.running = true;
    }
    for (const log of logs.logs()) this.reopened(brokerId, log, alive);
    this.lostPower.delete(brokerId);
    const create = logs.create.bind(logs);
    logs.create = async (...args) => {
      const log = await create(...args);
      if (alive()) this.created(brokerId, log, alive);
      return log;
    };
    const forget = (topicId: string, partition: number): void => {
      if (!alive()) return;
      this.cluster.find(topicId, partition)?.replicas.delete(brokerId);
    };
    const remove = logs.delete.bind(logs);
    logs.delete = async (topicId, partition) => {
      this.judgeRemoval(brokerId, topicId, partition);
      forget(topicId, partition);
      await remove(topicId, partition);
    };
    const moveAside = logs.moveAside.bind(logs);
    logs.moveAside = async (topicId, partition) => {
      forget(topicId, partition);
      await moveAside(topicId, partition);
    };
    const setAsideDamaged = logs.setAsideDamaged.bind(logs);
    logs.setAsideDamaged = async (replica) => {
      if (alive()) this.judgeSetAside(brokerId, replica.topicId, replica.partition);
      forget(replica.topicId, replica.partition);
      await setAsideDamaged(replica);
    };
  }

  dataPlaneMade(brokerId: number, dataPlane: DataPlane, alive: () => boolean): void {
    const manager = dataPlane.host as ReplicaManager;
    this.managers.set(brokerId, manager);
    const partitions: Map<string, Partition> = manager['partitions'];
    const add = partitions.set.bind(partitions);
    partitions.set = (key, partition) => {
      this.observe(brokerId, partition, alive);
      return add(key, partition);
    };
    for (const partition of partitions.values()) this.observe(brokerId, partition, alive);
    const find = manager.find.bind(manager);
    manager.find = (name, listener) => {
      const found = find(name, listener);
      if (alive()) this.judgeIdentity(brokerId, name, found);
      return found;
    };
  }

  /** Z5: a client that means a topic by its id gets no other one of that name. */
  private judgeIdentity(brokerId: number, asked: { topicId: string }, found: Partition): void {
    const { topic, topicId, partition } = found;
    if (topicId === asked.topicId) return;
    const model = this.cluster.partition(topic, topicId, partition);
    model.report('Z5', `broker ${brokerId} serves it to who asked for topic id ${asked.topicId}`);
  }

  crashed(brokerId: number, { loseUnsynced = false }: CrashOptions): void {
    this.counts.restarts += 1;
    if (loseUnsynced) {
      this.lostPower.add(brokerId);
      this.counts.uncleanRestarts += 1;
    }
    for (const model of this.cluster.all()) {
      const replica = model.replicas.get(brokerId);
      if (!replica) continue;
      replica.running = false;
      replica.highWatermark = 0;
      const log = this.stores.get(brokerId)?.get(model.topic.topicId, model.partition);
      if (log?.cutsAreSettled !== false) replica.uncutEnd = 0;
      // With flush=sync nothing that counts may be lost.
      if (loseUnsynced && model.topic.config.flush === 'os') {
        replica.taintedIn = this.cluster.brokers.get(brokerId)?.brokerEpoch ?? 0;
      }
    }
  }

  private created(brokerId: number, log: PartitionLog, alive: () => boolean): void {
    const model = this.cluster.partition(log.topic, log.topicId, log.partition);
    const known = model.replicas.get(brokerId);
    if (known?.log.end === log.logEndOffset) return this.instrument(brokerId, log, alive);
    model.replicas.delete(brokerId);
    const replica = model.replica(brokerId);
    replica.log.restart(log.logEndOffset);
    this.instrument(brokerId, log, alive);
  }

  /** R9: what the last life had, or a beginning of it. */
  private reopened(brokerId: number, log: PartitionLog, alive: () => boolean): void {
    const model = this.cluster.partition(log.topic, log.topicId, log.partition);
    const before = model.replicas.get(brokerId);
    const now = marksOf(log, this.diskOf(brokerId));
    if (before && !model.isOver) this.compareLives(model, before, now);
    const taintedIn = before?.taintedIn;
    model.replicas.delete(brokerId);
    const replica = model.replica(brokerId);
    for (const mark of now.marks) model.found(mark);
    Object.assign(replica, { log: now, taintedIn });
    model.requireMember(replica, 'its broker started again');
    this.instrument(brokerId, log, alive);
  }

  private compareLives(model: PartitionModel, before: ReplicaModel, now: MarkedLog): void {
    const { brokerId, log, failed, uncutEnd } = before;
    const lostPower = this.lostPower.has(brokerId);
    if (!lostPower && !failed && now.end !== log.end) {
      model.report('R9', `broker ${brokerId} was killed with LEO ${log.end}, is at ${now.end}`);
    }
    if (lostPower && now.end > Math.max(log.end, uncutEnd) && !failed) {
      model.report('R9', `broker ${brokerId} went down with LEO ${log.end}, is at ${now.end}`);
    }
    if (model.isCompacted) return;
    const old = log.between(now.start, Math.min(now.end, log.end));
    const different = old.findIndex((mark, at) => {
      const found = now.marks[at];
      return !found || !isSame(found, mark);
    });
    if (different >= 0) {
      const { baseOffset } = old[different]!;
      model.report('R9', `broker ${brokerId} has another batch at ${baseOffset} than before`);
    }
  }

  /** Data goes only when a deletion or another assignment says so. */
  private judgeRemoval(brokerId: number, topicId: string, partition: number): void {
    const topic = this.cluster.topics.get(topicId);
    if (!topic || topic.dying || !topic.assignment[partition]?.includes(brokerId)) return;
    if (topic.removing[partition]?.includes(brokerId)) return;
    const model = this.cluster.find(topicId, partition);
    // It was told before it was taken in again, and has not heard of that yet; nothing counts on what it has.
    if (topic.adding[partition]?.includes(brokerId) && !model?.isMember(brokerId)) return;
    const text = `broker ${brokerId} deletes a replica that nobody asked it to`;
    model?.report('Z5', text);
  }

  /** R10: a damaged replica may still be the only one that has something, as long as it counts. */
  private judgeSetAside(brokerId: number, topicId: string, partition: number): void {
    const model = this.cluster.find(topicId, partition);
    this.counts.refills += 1;
    if (!model?.isMember(brokerId) || model.isOver) return;
    model.report('R10', `broker ${brokerId} sets its log aside while it is counted as in sync`);
  }

  private instrument(brokerId: number, log: PartitionLog, alive: () => boolean): void {
    const model = this.cluster.partition(log.topic, log.topicId, log.partition);
    const watched = { model, brokerId, log, alive };
    watchReads(watched);
    watchCompaction(watched, () => (this.counts.compactions += 1));
    const appendAsLeader = log.appendAsLeader.bind(log);
    log.appendAsLeader = (batch, options) => {
      const appended = appendAsLeader(batch, options);
      if (alive() && !appended.duplicate) model.appendedAsLeader(brokerId, markOf(batch));
      return appended;
    };
    const appendAsFollower = log.appendAsFollower.bind(log);
    log.appendAsFollower = (batches) => {
      appendAsFollower(batches);
      if (!alive()) return;
      for (const batch of splitBatches(batches)) model.appended(brokerId, markOf(batch));
    };
    const truncateTo = log.truncateTo.bind(log);
    log.truncateTo = (offset) => {
      truncateTo(offset);
      if (!alive()) return;
      if (log.logEndOffset < model.replica(brokerId).log.end) this.counts.truncations += 1;
      model.truncated(brokerId, log.logEndOffset);
    };
    const restartAt = log.restartAt.bind(log);
    log.restartAt = (offset) => {
      restartAt(offset);
      if (alive()) model.restarted(brokerId, offset);
    };
  }

  private observe(brokerId: number, partition: Partition, alive: () => boolean): void {
    const { topic, topicId, partition: number } = partition;
    const model = this.cluster.partition(topic, topicId, number);
    this.highWatermark(model, brokerId, partition.state);
    const dispatch = partition.dispatch.bind(partition);
    partition.dispatch = (event) => {
      const before = partition.state;
      dispatch(event);
      if (!alive() || partition.state === before) return;
      if (partition.log.failure) model.replica(brokerId).failed = true;
      this.stateChanged(model, brokerId, { partition, before, alive });
    };
  }

  private stateChanged(
    model: PartitionModel,
    brokerId: number,
    change: { partition: Partition; before: State; alive: () => boolean },
  ): void {
    const { partition, before, alive } = change;
    const { state, log } = partition;
    if (state.leaderEpoch < before.leaderEpoch) {
      const epochs = `${before.leaderEpoch} to ${state.leaderEpoch}`;
      model.report('Z5', `broker ${brokerId} went back from leader epoch ${epochs}`);
    }
    const begins =
      state.role === 'leader' &&
      (before.role !== 'leader' || before.leaderEpoch !== state.leaderEpoch);
    if (begins) {
      this.counts.leadersStarted += 1;
      model.leaderStarted(brokerId, state.leaderEpoch, log.latestEpoch, alive);
    }
    if (state.highWatermark !== before.highWatermark) {
      if (state.role === 'leader') this.judgeCommit(model, brokerId, state, before);
      this.highWatermark(model, brokerId, state);
    }
    if (log.logStartOffset > state.highWatermark && state.role === 'leader') {
      const { logStartOffset } = log;
      model.report(
        'R7',
        `broker ${brokerId} starts at ${logStartOffset}, HW ${state.highWatermark}`,
      );
    }
    if (state.role === 'leader') this.judgeMaximalIsr(model, brokerId, state);
  }

  private highWatermark(model: PartitionModel, brokerId: number, state: State): void {
    if (model.isOver) return;
    model.highWatermarkMoved(brokerId, state.highWatermark, state.role === 'leader');
  }

  /** KAFKA-15583: frozen under min ISR. With flush=sync only what is on the leader's device. */
  private judgeCommit(
    model: PartitionModel,
    brokerId: number,
    state: State & { role: 'leader' },
    before: State,
  ): void {
    if (state.highWatermark <= before.highWatermark) return;
    const least = Math.min(model.topic.config.minInsyncReplicas, state.replicas.length);
    if (state.isr.length < Math.min(least, state.settings.minInsyncReplicas)) {
      const isr = `ISR ${state.isr.join()} below min ISR ${least}`;
      model.report('R3', `broker ${brokerId} commits ${state.highWatermark} with ${isr}`);
    }
  }

  /** R4: whoever the coordinator counts, the leader counts, too. */
  private judgeMaximalIsr(
    model: PartitionModel,
    brokerId: number,
    state: State & { role: 'leader' },
  ): void {
    const { stored } = model;
    if (!stored || stored.leaderEpoch !== state.leaderEpoch || model.isOver) return;
    const counted = new Set([...state.isr, ...(state.pending?.isr ?? [])]);
    const missing = stored.isr.filter((member) => !counted.has(member));
    if (missing.length === 0 || stored.isr.length < state.settings.minInsyncReplicas) return;
    const isr = `${[...counted].join()} of ${stored.isr.join()}`;
    model.report('R4', `broker ${brokerId} leads and counts only ${isr}`);
  }
}

/** From the disk, as it was written: reading the log would find damage that nobody who uses it has met. */
function marksOf(log: PartitionLog, disk: SimulatedDisk): MarkedLog {
  const { directory } = log as Log;
  const marked = new MarkedLog(log.logStartOffset, log.logStartOffset);
  for (const name of disk.list(directory).filter((one) => one.endsWith('.log'))) {
    for (const batch of splitBatches(disk.written(`${directory}/${name}`))) {
      const mark = markOf(batch);
      if (mark.lastOffset >= log.logStartOffset) marked.append(mark);
    }
  }
  marked.end = log.logEndOffset;
  return marked;
}
