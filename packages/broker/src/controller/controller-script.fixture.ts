/**
 * Drives the pure controller in tests and writes down what it does, one readable line per effect. Writes
 * are acknowledged only when the script says so. Called by *.test.ts of this folder alone.
 */
import { TributaryError, type ErrorCode } from '@tributary/common';
import type {
  PartitionStateWriteResult,
  RegisteredBroker,
  VersionedPartitionState,
} from '@tributary/coordination';
import { defaultControlLimits } from '../control-limits';
import { controllerRequest, type AskedCommand } from './asked-command.fixture';
import { lineOf } from './controller-lines.fixture';
import type { ControllerEffect, KeyedWrite } from './controller-effect';
import type { ControllerEvent, ToldPast, TopicContext } from './controller-event';
import type { CommandInFlight, ControllerState, PartitionEntry } from './controller-state';
import { initialState, step } from './step';
import type { StepSettings } from './step-settings';

/** Two moves at once, so that a test sees one wait. */
export const settings: StepSettings = {
  ...defaultControlLimits,
  maxMovesAtOnce: 2,
  maxPartitionsPerTopic: 100,
};

export function registered(brokerId: number, life = 0): RegisteredBroker {
  return {
    brokerId,
    brokerEpoch: epochOf(brokerId, life),
    endpoints: [{ listener: 'inside', host: `host-${brokerId}`, port: 9292 }],
    rack: undefined,
    hostname: `host-${brokerId}`,
  };
}

/** Lives of one broker have growing epochs: 101, 1101, 2101 ... */
export function epochOf(brokerId: number, life = 0): number {
  return 100 + brokerId + life * 1_000;
}

export function topicContext(
  topic: string,
  assignment: readonly (readonly number[])[],
  states: readonly VersionedPartitionState[] = [],
  configs: Readonly<Record<string, string>> = {},
): TopicContext {
  return { record: { topic, topicId: `${topic}-id`, assignment, configs, version: 0 }, states };
}

export function storedState(
  topic: string,
  partition: number,
  changes: Partial<VersionedPartitionState>,
): VersionedPartitionState {
  return {
    topic,
    topicId: `${topic}-id`,
    partition,
    leader: -1,
    leaderEpoch: 0,
    controllerEpoch: 1,
    isr: [],
    eligibleLeaders: [],
    partitionEpoch: 0,
    ...changes,
  };
}

type EffectOf<Type> = Extract<ControllerEffect, { readonly type: Type }>;

export class ControllerScript {
  state: ControllerState = initialState(1, 7);
  /** All effects, as lines, since the last `take`. */
  private lines: string[] = [];
  private pending: KeyedWrite[] = [];
  private updates: EffectOf<'update-topic'>[] = [];
  private settingsWrites: EffectOf<'write-settings'>[] = [];
  private readonly stops: { readonly brokerId: number; readonly topicId: string }[] = [];
  readonly journal: string[] = [];
  /** What commands were answered with, newest last. */
  readonly answers: CommandInFlight['answer'][] = [];

  /** The lines since the last call, without journal and timers. */
  take(): string[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }

  event(event: ControllerEvent): this {
    const { state, effects } = step(this.state, event, settings);
    this.state = state;
    for (const effect of effects) this.note(effect);
    return this;
  }

  /** In office with these brokers ready; leaves no lines behind. */
  begin(brokers: readonly number[], topics: readonly TopicContext[] = []): this {
    this.event({
      type: 'elected',
      context: {
        brokers: brokers.map((id) => registered(id)),
        topics,
        deletions: [],
        brokerSettings: [],
      },
    });
    for (const brokerId of brokers) this.ready(brokerId);
    this.acknowledgeWrites();
    this.take();
    return this;
  }

  ready(brokerId: number, life = 0): this {
    return this.streamUp(brokerId, life).acknowledge(brokerId, life);
  }

  /** Unless `told` says otherwise its process died, and nothing was lost with it. */
  streamUp(brokerId: number, life = 0, told: Partial<ToldPast> = {}): this {
    const previousBrokerEpoch = life > 0 ? epochOf(brokerId, life - 1) : 0;
    const hello: ToldPast = {
      replicas: [],
      previousStop: 'STOPPED_BY_PROCESS',
      previousBrokerEpoch,
      earlierBrokerEpochs: [],
      ...told,
    };
    return this.event({ type: 'stream-up', ...lifeOf(brokerId, life), hello });
  }

  acknowledge(brokerId: number, life = 0): this {
    const { sequence } = this.state;
    return this.event({ type: 'acknowledged', ...lifeOf(brokerId, life), sequence });
  }

  streamDown(brokerId: number, life = 0): this {
    return this.event({ type: 'stream-down', ...lifeOf(brokerId, life), why: 'broken' });
  }

  refused(brokerId: number, life = 0): this {
    return this.event({ type: 'refused', ...lifeOf(brokerId, life), why: 'refused' });
  }

  late(...brokerIds: number[]): this {
    return this.event({ type: 'late', brokers: brokerIds.map((id) => lifeOf(id, 0)) });
  }

  alter(
    brokerId: number,
    where: string,
    isr: readonly number[],
    changes: Readonly<{
      leaderEpoch?: number;
      partitionEpoch?: number;
      brokerEpoch?: number;
      memberEpochs?: Readonly<Record<number, number>>;
      requestId?: number;
      acceptLoss?: boolean;
    }> = {},
  ): this {
    const stored = this.partition(where).stored;
    const [topic = '', partition = '0'] = where.split('/');
    const request = {
      requestId: changes.requestId ?? 1,
      brokerEpoch: changes.brokerEpoch ?? epochOf(brokerId),
      topic,
      topicId: `${topic}-id`,
      partition: Number(partition),
      leaderEpoch: changes.leaderEpoch ?? stored?.leaderEpoch ?? 0,
      partitionEpoch: changes.partitionEpoch ?? stored?.partitionEpoch ?? 0,
      isr: isr.map((id) => ({
        brokerId: id,
        brokerEpoch: changes.memberEpochs?.[id] ?? epochOf(id),
      })),
      acceptLoss: changes.acceptLoss ?? false,
    };
    return this.event({ type: 'alter-partition', brokerId, request });
  }

  /** The coordinator acknowledges everything that is being written, until nothing is. */
  acknowledgeWrites(): this {
    while (this.pending.length > 0) {
      const writes = this.pending;
      this.pending = [];
      const outcomes = writes.map((write) => ({
        topicId: write.topicId,
        partition: write.state.partition,
        result: acknowledged(write),
      }));
      this.event({ type: 'states-written', outcomes });
    }
    return this;
  }

  /** The oldest write lost its compare-and-set to what is `current`. */
  loseWrite(current: VersionedPartitionState | undefined): this {
    const write = this.pending.shift();
    if (!write) throw new Error('nothing is being written');
    const { topicId, state } = write;
    const outcome = {
      topicId,
      partition: state.partition,
      result: { ok: false, current } as const,
    };
    return this.event({ type: 'states-written', outcomes: [outcome] });
  }

  /** A person asks through this broker. */
  ask(brokerId: number, command: AskedCommand, requestId = 1): this {
    const request = controllerRequest(command, requestId, epochOf(brokerId));
    return this.event({ type: 'command', brokerId, request });
  }

  /** The coordinator acknowledges the updates of topics and what is stored for brokers, until none is on its way. */
  acknowledgeUpdates(): this {
    for (let update = this.updates.shift(); update; update = this.updates.shift()) {
      const { before, after } = update;
      const record = { ...after, version: (before.version ?? 0) + 1 };
      this.event({ type: 'topic-updated', record });
    }
    const written = this.settingsWrites.shift();
    if (!written) return this;
    const version = (written.expectedVersion ?? -1) + 1;
    this.event({ type: 'settings-written', settings: { ...written.settings, version } });
    return this.acknowledgeUpdates();
  }

  /** Writes and updates, until nothing is on its way. */
  acknowledgeAll(): this {
    while (this.pending.length + this.updates.length + this.settingsWrites.length > 0) {
      this.acknowledgeWrites().acknowledgeUpdates();
    }
    return this;
  }

  /** Each `where` with the replicas that are wanted; 'cancel' takes a move back. Asked through broker 1. */
  reassign(moves: Readonly<Record<string, readonly number[] | 'cancel'>>, requestId = 1): this {
    const reassignments = Object.entries(moves).map(([where, replicas]) => {
      const [topic = '', partition = '0'] = where.split('/');
      const cancel = replicas === 'cancel';
      const wanted = replicas === 'cancel' ? [] : [...replicas];
      return { topic, topicId: '', partition: Number(partition), replicas: wanted, cancel };
    });
    return this.ask(1, { reassignPartitions: { reassignments } }, requestId);
  }

  /** These have confirmed that the replica is deleted. */
  deleted(where: string, ...brokerIds: number[]): this {
    const [topic = '', partition = '0'] = where.split('/');
    const topicId = `${topic}-id`;
    const result = { topicId, partition: Number(partition), dataDeleted: true, error: null };
    for (const id of brokerIds) {
      this.event({ type: 'replicas-stopped', ...lifeOf(id, 0), results: [result] });
    }
    return this;
  }

  /** `1,2,3` and what is moved: `4,2,1 (adding 4, removing 1)`, as the topic's node says. */
  assignment(where: string): string {
    const { replicas, adding, removing } = this.partition(where);
    const moved = [
      ...(adding.length > 0 ? [`adding ${adding.join(',')}`] : []),
      ...(removing.length > 0 ? [`removing ${removing.join(',')}`] : []),
    ];
    return replicas.join(',') + (moved.length > 0 ? ` (${moved.join(', ')})` : '');
  }

  /** The oldest update, of a topic or of what is stored for a broker, is refused. */
  refuseUpdate(code: ErrorCode): this {
    const error = new TributaryError(code, 'as the script says');
    const update = this.updates.shift();
    if (update) {
      const { topicId } = update.before;
      return this.event({ type: 'topic-update-failed', topicId, error });
    }
    const { brokerId = -1 } = this.settingsWrites.shift()?.settings ?? {};
    return this.event({ type: 'settings-failed', brokerId, error });
  }

  /** Topic ids of the replicas that this broker was told to delete, a line each. */
  stopped(brokerId: number): string[] {
    return this.stops.flatMap((stop) => (stop.brokerId === brokerId ? [stop.topicId] : []));
  }

  partition(where: string): PartitionEntry {
    const [topic, partition] = where.split('/');
    const entry = this.state.topics.get(`${topic}-id`)?.partitions[Number(partition)];
    if (!entry) throw new Error(`no partition ${where}`);
    return entry;
  }

  /** `leader 1, epoch 0.0, ISR 1,2,3` and the eligible leaders, where there are any. */
  stored(where: string): string {
    const { stored } = this.partition(where);
    if (!stored) return 'nothing';
    const { leader, leaderEpoch, partitionEpoch, isr, eligibleLeaders } = stored;
    const more = eligibleLeaders.length > 0 ? `, eligible ${eligibleLeaders.join(',')}` : '';
    return `leader ${leader}, epoch ${leaderEpoch}.${partitionEpoch}, ISR ${isr.join(',')}${more}`;
  }

  private note(effect: ControllerEffect): void {
    if (effect.type === 'write-states') this.pending.push(...effect.writes);
    if (effect.type === 'update-topic') this.updates.push(effect);
    if (effect.type === 'write-settings') this.settingsWrites.push(effect);
    if (effect.type === 'journal') {
      const { who, what, why } = effect.entry;
      this.journal.push(`${who}: ${what} (${why})`);
    }
    if (effect.type === 'answer-command') this.answers.push(effect.answer);
    if (effect.type === 'publish') {
      for (const [brokerId, stops] of effect.publication.stopReplicas) {
        this.stops.push(...stops.map(({ topicId }) => ({ brokerId, topicId })));
      }
    }
    const line = lineOf(effect);
    if (line) this.lines.push(...[line].flat());
  }
}

function lifeOf(brokerId: number, life: number): { brokerId: number; brokerEpoch: number } {
  return { brokerId, brokerEpoch: epochOf(brokerId, life) };
}

function acknowledged(write: KeyedWrite): PartitionStateWriteResult {
  const { expectedPartitionEpoch: expected } = write;
  const partitionEpoch = expected === undefined ? 0 : expected + 1;
  return { ok: true, state: { ...write.state, partitionEpoch } };
}
