/**
 * Judges every transaction of the coordinator: Z1 to Z4, and R5. It is the audit log in which a write by an old controller,
 * a lost compare-and-set or a dead member of the ISR stands for ever. Called by the ensemble, in order.
 */
import { parseTopicConfig } from '@tributary/common';
import type { EmbeddedTransaction } from '@tributary/coordination';
import type { ClusterModel } from './cluster-model';
import type { PartitionModel, StoredState } from './partition-model';
import type { TopicModel } from './topic-model';
import type { Violations } from './violations';

type Operation = EmbeddedTransaction['operations'][number];

const EPOCH_PATH = '/controller_epoch';
const STATE_PATH = /^\/brokers\/topics\/([^/]+)\/partitions\/([0-9]+)\/state$/;
const TOPIC_PATH = /^\/brokers\/topics\/([^/]+)$/;
const CONFIG_PATH = /^\/config\/topics\/([^/]+)$/;
const DELETION_PATH = /^\/admin\/delete_topics\/([^/]+)$/;
const BROKER_PATH = /^\/brokers\/ids\/([0-9]+)$/;
/** A controller may not have heard yet that a broker's session ended. */
const NEWS_MS = 5_000;

export interface MetadataCounts {
  elections: number;
  isrChanges: number;
  controllerChanges: number;
  reassignments: number;
  topicsDeleted: number;
  owedReplicas: number;
}

export class MetadataAudit {
  readonly counts: MetadataCounts = {
    elections: 0,
    isrChanges: 0,
    controllerChanges: 0,
    reassignments: 0,
    topicsDeleted: 0,
    owedReplicas: 0,
  };
  private controllerEpoch = 0;
  private readonly controllers = new Map<number, number>();
  /** Of the controller that was elected last, and of those before. */
  private controllerSession: string | undefined;
  private readonly pastSessions = new Set<string | undefined>();
  private readonly configs = new Map<string, Record<string, string>>();

  constructor(
    private readonly cluster: ClusterModel,
    private readonly violations: Violations,
    private readonly now: () => number,
  ) {}

  transaction({ operations, results, zxid, sessionId }: EmbeddedTransaction): void {
    this.judgeFence(operations, sessionId);
    operations.forEach((operation, index) => {
      if (operation.type === 'check') return;
      const path = results[index]?.path ?? operation.path;
      const { path: plain } = operation;
      if (plain === EPOCH_PATH) this.controllerEpochSet(operation);
      else if (plain === '/controller') this.controllerSet(operation, sessionId);
      else this.other(path, operation, operations, zxid);
    });
  }

  /** Z4: whatever a controller writes, none that was replaced. */
  private judgeFence(operations: readonly Operation[], sessionId: string | undefined): void {
    const isFenced = operations.some(({ type, path }) => type === 'check' && path === EPOCH_PATH);
    if (!isFenced || !this.pastSessions.has(sessionId)) return;
    const written = operations.find(({ type }) => type !== 'check');
    const what = `${written?.path ?? 'nothing'} is written by a controller that is not in office`;
    this.violations.report('Z4', `${what}: ${this.controllerEpoch} is`);
  }

  private other(path: string, operation: Operation, all: readonly Operation[], zxid: number): void {
    const state = STATE_PATH.exec(path);
    if (state) return this.stateChanged(state[1]!, Number(state[2]), operation, all);
    const topic = TOPIC_PATH.exec(path)?.[1];
    if (topic) return this.topicChanged(topic, operation);
    const config = CONFIG_PATH.exec(path)?.[1];
    if (config) return this.configChanged(config, operation);
    const deleted = DELETION_PATH.exec(path)?.[1];
    if (deleted && operation.type === 'create') {
      const current = this.cluster.topics.get(json(operation)['topic_id'] as string);
      if (current) current.dying = true;
    }
    const broker = BROKER_PATH.exec(path)?.[1];
    if (broker) this.brokerChanged(Number(broker), operation, zxid);
  }

  private controllerEpochSet(operation: Operation): void {
    if (operation.type !== 'set') return;
    const epoch = Number(operation.data.toString());
    if (epoch !== this.controllerEpoch + 1 || operation.version === undefined) {
      this.violations.report('Z1', `controller epoch ${epoch} after ${this.controllerEpoch}`);
    }
    this.controllerEpoch = epoch;
  }

  private controllerSet(operation: Operation, sessionId: string | undefined): void {
    if (operation.type !== 'create') return;
    this.pastSessions.add(this.controllerSession);
    this.pastSessions.delete(sessionId);
    this.controllerSession = sessionId;
    const { brokerid, controller_epoch: epoch } = json(operation) as Record<string, number>;
    if (this.controllers.has(epoch!)) {
      this.violations.report('Z1', `controller epoch ${epoch} belongs to two controllers`);
    }
    this.controllers.set(epoch!, brokerid!);
    if (this.controllers.size > 1) this.counts.controllerChanges += 1;
  }

  private stateChanged(
    topic: string,
    partition: number,
    operation: Operation,
    all: readonly Operation[],
  ): void {
    if (operation.type === 'remove' || operation.type === 'check') return;
    const payload = json(operation);
    const model = this.cluster.partition(topic, payload['topic_id'] as string, partition);
    const next: StoredState = {
      leader: payload['leader'] as number,
      leaderEpoch: payload['leader_epoch'] as number,
      controllerEpoch: payload['controller_epoch'] as number,
      isr: payload['isr'] as number[],
      eligibleLeaders: (payload['eligible_leaders'] as number[] | undefined) ?? [],
      seatEpochs: (payload['seat_epochs'] as Record<string, number> | undefined) ?? {},
    };
    if (operation.type === 'set' && operation.version === undefined) {
      model.report('Z2', 'its state was written without compare-and-set');
    }
    const fenced = all.some((one) => one.type === 'check' && one.path === EPOCH_PATH);
    if (!fenced || next.controllerEpoch !== this.controllerEpoch) {
      const fence = fenced ? '' : ', without a check of the epoch';
      const by = `controller epoch ${next.controllerEpoch}${fence}`;
      model.report('Z4', `written by ${by}, while ${this.controllerEpoch} is in office`);
    }
    const before = model.stored;
    if (before) this.compare(model, before, next);
    this.judgeMembers(model, before, next);
    model.stored = next;
    if (next.leader >= 0) model.leaders.set(next.leaderEpoch, next.leader);
    this.untaint(model, next);
    model.requireMembers('its state was written');
  }

  private compare(model: PartitionModel, before: StoredState, next: StoredState): void {
    if (next.leaderEpoch < before.leaderEpoch) {
      model.report('Z3', `leader epoch ${next.leaderEpoch} after ${before.leaderEpoch}`);
    }
    const leaderChanged = next.leader >= 0 && next.leader !== before.leader;
    if (leaderChanged && next.leaderEpoch === before.leaderEpoch) {
      model.report('Z3', `broker ${next.leader} after ${before.leader} in one leader epoch`);
    }
    if (next.controllerEpoch < before.controllerEpoch) {
      model.report('Z1', `controller ${next.controllerEpoch} after ${before.controllerEpoch}`);
    }
    if (leaderChanged) this.counts.elections += 1;
    const sameIsr = [...before.isr].sort().join() === [...next.isr].sort().join();
    if (!sameIsr) this.counts.isrChanges += 1;
  }

  /** R5. */
  private judgeMembers(
    model: PartitionModel,
    before: StoredState | undefined,
    { leader, isr }: StoredState,
  ): void {
    if (leader >= 0 && !isr.includes(leader)) {
      model.report('R5', `its leader ${leader} is not in the ISR ${isr.join()}`);
    }
    const assigned = model.topic.assignment[model.partition] ?? [];
    for (const brokerId of isr) {
      if (before?.isr.includes(brokerId)) continue;
      if (!assigned.includes(brokerId)) {
        model.report('R5', `broker ${brokerId} entered the ISR, assigned are ${assigned.join()}`);
      }
      const broker = this.cluster.brokers.get(brokerId);
      if (broker?.registered) continue;
      if (!broker || this.now() - broker.sinceMs > NEWS_MS) {
        model.report('R5', `broker ${brokerId} entered the ISR and is not there`);
      }
    }
  }

  /** Who lost un-synced bytes is judged again once it was given a seat in a later life. */
  private untaint(model: PartitionModel, { seatEpochs }: StoredState): void {
    for (const replica of model.replicas.values()) {
      const { brokerId, taintedIn } = replica;
      const seat = seatEpochs[brokerId];
      if (taintedIn !== undefined && seat !== undefined && seat > taintedIn) {
        replica.taintedIn = undefined;
      }
    }
  }

  private topicChanged(topic: string, operation: Operation): void {
    if (operation.type === 'remove') {
      const current = this.cluster.current(topic);
      if (current) Object.assign(current, { dying: true, gone: true });
      this.counts.topicsDeleted += 1;
      return;
    }
    if (operation.type === 'check') return;
    const payload = json(operation);
    const model = this.cluster.topic(topic, payload['topic_id'] as string);
    const partitions = payload['partitions'] as Record<string, number[]>;
    model.adding = (payload['adding_replicas'] ?? {}) as Record<string, number[]>;
    model.removing = (payload['removing_replicas'] ?? {}) as Record<string, number[]>;
    model.owed = (payload['owed_replicas'] ?? {}) as Record<string, number[]>;
    const moving = [...Object.values(model.adding), ...Object.values(model.removing)].flat();
    if (moving.length > 0) this.counts.reassignments += 1;
    model.assignment = Object.keys(partitions)
      .map(Number)
      .sort((a, b) => a - b)
      .map((partition) => partitions[partition]!);
    this.judgeOwed(model);
    this.applyConfig(topic);
  }

  /** R5: a broker that is assigned is never to delete. */
  private judgeOwed({ topic, owed, assignment }: TopicModel): void {
    for (const [partition, brokerIds] of Object.entries(owed)) {
      this.counts.owedReplicas += 1;
      const both = brokerIds.filter((id) => assignment[Number(partition)]?.includes(id));
      if (both.length === 0) continue;
      const what = `brokers ${both.join()} are assigned, and owe the deletion`;
      this.violations.report('R5', `${topic}-${partition}: ${what}`);
    }
  }

  private configChanged(topic: string, operation: Operation): void {
    if (operation.type === 'remove') {
      this.configs.delete(topic);
    } else if (operation.type !== 'check') {
      this.configs.set(topic, json(operation)['config'] as Record<string, string>);
      this.applyConfig(topic);
    }
  }

  private applyConfig(topic: string): void {
    const current = this.cluster.current(topic);
    const replicas = current?.assignment[0]?.length;
    if (!current || !replicas) return;
    current.config = parseTopicConfig(this.configs.get(topic) ?? {}, replicas);
  }

  private brokerChanged(brokerId: number, operation: Operation, zxid: number): void {
    const sinceMs = this.now();
    if (operation.type === 'create') {
      this.cluster.brokers.set(brokerId, { brokerEpoch: zxid, registered: true, sinceMs });
    } else if (operation.type === 'remove') {
      const broker = this.cluster.brokers.get(brokerId);
      if (broker) Object.assign(broker, { registered: false, sinceMs });
    }
  }
}

function json(operation: Operation): Record<string, unknown> {
  if (!('data' in operation)) return {};
  return JSON.parse(operation.data.toString()) as Record<string, unknown>;
}
