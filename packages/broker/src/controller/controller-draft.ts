/**
 * The next state of the controller in the making: copies a map when it is first written, gathers what is to
 * be published and what is to be done, and puts both into one order at the end: writes, answers that need
 * no publication, then one publication, then images, then the answers that must come after it.
 * Lives within one `step`; never escapes it.
 */
import type { TributaryError } from '@tributary/common';
import type {
  RegisteredBroker,
  TopicRecord,
  VersionedPartitionState,
} from '@tributary/coordination';
import type { PartitionState, StopReplica } from '@tributary/protocol';
import { isLinked, nextStanding, type StandingEvent } from './broker-standing';
import {
  topicInfoOf,
  type ControllerEffect,
  type KeyedWrite,
  type Publication,
} from './controller-effect';
import type { BrokerLife } from './controller-event';
import {
  type AlterRequest,
  type BrokerState,
  type ControllerState,
  type Outage,
  type PartitionEntry,
  type TopicState,
} from './controller-state';
import type { StepSettings } from './step-settings';
import { topicRules } from './topic-rules';
import { brokerInfoOf, isSeenEligible, wireState } from './wire-state';
import { summarize, type PartitionNote } from './journal-summary';

export interface Step {
  readonly state: ControllerState;
  readonly effects: readonly ControllerEffect[];
}

export class ControllerDraft {
  private brokers: Map<number, BrokerState> | undefined;
  private topics: Map<string, TopicState> | undefined;
  private readonly effects: ControllerEffect[] = [];
  private readonly after: ControllerEffect[] = [];
  private readonly writes: KeyedWrite[] = [];
  private readonly notes: PartitionNote[] = [];
  /** Copied in this step: written in place from then on, as thousands may change at once. */
  private readonly ownPartitions = new Map<string, PartitionEntry[]>();
  private readonly imaged = new Set<number>();
  private readonly published = {
    brokers: new Set<number>(),
    removedBrokers: new Set<number>(),
    topicIds: new Set<string>(),
    removedTopicIds: new Set<string>(),
    partitions: new Map<string, PartitionState>(),
    stopReplicas: new Map<number, StopReplica[]>(),
  };

  constructor(
    private base: ControllerState,
    readonly settings: StepSettings,
  ) {}

  /** As it is at this point of the step. */
  get state(): ControllerState {
    const { base } = this;
    return {
      ...base,
      brokers: this.brokers ?? base.brokers,
      topics: this.topics ?? base.topics,
    };
  }

  change(
    changes: Partial<Omit<ControllerState, 'controllerId' | 'sequence' | 'brokers' | 'topics'>>,
  ): void {
    this.base = { ...this.base, ...changes };
  }

  /** What others see of it changed, beside what `setBroker` notices. */
  publishBroker(brokerId: number): void {
    if (this.broker(brokerId)) this.published.brokers.add(brokerId);
  }

  broker(brokerId: number): BrokerState | undefined {
    return (this.brokers ?? this.base.brokers).get(brokerId);
  }

  /** Of an event about a stream: the broker, if it still is in that life. */
  brokerInLife(life: BrokerLife): BrokerState | undefined {
    const broker = this.broker(life.brokerId);
    return broker?.registration.brokerEpoch === life.brokerEpoch ? broker : undefined;
  }

  allBrokers(): ReadonlyMap<number, BrokerState> {
    return this.brokers ?? this.base.brokers;
  }

  allTopics(): ReadonlyMap<string, TopicState> {
    return this.topics ?? this.base.topics;
  }

  /** Publishes the broker anew when what others see of it has changed. */
  setBroker(broker: BrokerState): void {
    const { brokerId } = broker.registration;
    const before = this.broker(brokerId);
    this.brokers ??= new Map(this.base.brokers);
    this.brokers.set(brokerId, broker);
    const isNew = before?.registration !== broker.registration;
    if (isNew || isSeenEligible(before) !== isSeenEligible(broker)) {
      this.published.brokers.add(brokerId);
      this.published.removedBrokers.delete(brokerId);
    }
  }

  removeBroker(brokerId: number): void {
    this.brokers ??= new Map(this.base.brokers);
    this.brokers.delete(brokerId);
    this.published.brokers.delete(brokerId);
    this.published.removedBrokers.add(brokerId);
  }

  addBroker(registration: RegisteredBroker): void {
    const offline = new Map<string, Outage>();
    const standing = 'joining';
    const { onProbation = false } = this.base.suspicions.get(registration.brokerId) ?? {};
    const broker = { registration, standing, leaving: false, onProbation, offline } as const;
    this.setBroker({ ...broker, imageSequence: -1 });
    this.effect({ type: 'open-link', registration });
  }

  /** Moves its standing; true when it changed. */
  moveBroker(broker: BrokerState, event: StandingEvent): boolean {
    const standing = nextStanding(broker.standing, event);
    if (standing === broker.standing) return false;
    // Back after a broken stream it is as steady as it was.
    const isBack = standing === 'ready' && broker.standing === 'imaging';
    const steady = isBack ? { readyAtTick: this.base.steadinessTicks } : {};
    this.setBroker({ ...broker, standing, ...steady });
    return true;
  }

  setTopic(topic: TopicState): void {
    this.topics ??= new Map(this.base.topics);
    this.topics.set(topic.record.topicId, topic);
  }

  removeTopic(topicId: string): void {
    if (this.allTopics().get(topicId)?.published) this.unpublishTopic(topicId);
    this.topics ??= new Map(this.base.topics);
    this.topics.delete(topicId);
  }

  setPartition(topicId: string, partition: number, entry: PartitionEntry): void {
    const topic = this.allTopics().get(topicId);
    if (!topic) return;
    const own = this.ownPartitions.get(topicId);
    if (own && own === topic.partitions) {
      own[partition] = entry;
      return;
    }
    const partitions = topic.partitions.with(partition, entry);
    this.ownPartitions.set(topicId, partitions);
    this.setTopic({ ...topic, partitions });
  }

  write(write: KeyedWrite): void {
    this.writes.push(write);
  }

  publishTopic(topicId: string): void {
    this.published.topicIds.add(topicId);
  }

  unpublishTopic(topicId: string): void {
    this.published.topicIds.delete(topicId);
    this.published.removedTopicIds.add(topicId);
  }

  publishPartition(entry: PartitionEntry): void {
    if (!entry.stored) return;
    const { topicId, partition } = entry.stored;
    const state = wireState(entry.stored, entry, this.state);
    this.published.partitions.set(`${topicId}/${partition}`, state);
  }

  stopReplica(brokerId: number, request: StopReplica): void {
    const requests = this.published.stopReplicas.get(brokerId);
    if (requests) requests.push(request);
    else this.published.stopReplicas.set(brokerId, [request]);
  }

  /** The stream begins with an image made at the end of this step. */
  image(brokerId: number): void {
    this.imaged.add(brokerId);
  }

  answerState(alter: AlterRequest, entry: PartitionEntry): void {
    if (!entry.stored) return;
    const { brokerId, request } = alter;
    const state = wireState(entry.stored, entry, this.state);
    const { requestId } = request;
    this.after.push({ type: 'answer-alteration', brokerId, requestId, outcome: { state } });
  }

  answerError(alter: AlterRequest, error: TributaryError): void {
    const { brokerId, request } = alter;
    const { requestId } = request;
    this.after.push({ type: 'answer-alteration', brokerId, requestId, outcome: { error } });
  }

  effect(effect: ControllerEffect): void {
    this.effects.push(effect);
  }

  /** Executed after the publication. */
  effectAfter(effect: ControllerEffect): void {
    this.after.push(effect);
  }

  journal(who: string, what: string, why: string): void {
    this.effects.push({ type: 'journal', entry: { who, what, why } });
  }

  /** Those of one step and one reason become one entry where they are many. */
  journalPartition(note: PartitionNote): void {
    this.notes.push(note);
  }

  finish(): Step {
    const isDirty = this.isPublicationDirty();
    const sequence = this.base.sequence + (isDirty ? 1 : 0);
    for (const brokerId of this.imaged) {
      const broker = this.broker(brokerId);
      if (broker) this.setBroker({ ...broker, imageSequence: sequence });
    }
    for (const { who, what, why } of summarize(this.notes)) this.journal(who, what, why);
    const effects = [...this.effects];
    if (this.writes.length > 0) effects.push({ type: 'write-states', writes: this.writes });
    if (isDirty) effects.push(...this.publication(sequence));
    for (const brokerId of this.imaged) effects.push({ type: 'send-image', brokerId });
    effects.push(...this.after);
    return { state: { ...this.state, sequence }, effects };
  }

  private publication(sequence: number): ControllerEffect[] {
    const { published } = this;
    const publication: Publication = {
      sequence,
      brokers: [...published.brokers].flatMap((id) => {
        const broker = this.broker(id);
        return broker ? [brokerInfoOf(broker, this.base.brokerSettings)] : [];
      }),
      removedBrokers: [...published.removedBrokers],
      topics: [...published.topicIds].flatMap((topicId) => {
        const topic = this.allTopics().get(topicId);
        return topic ? [topicInfoOf(topic.record)] : [];
      }),
      removedTopicIds: [...published.removedTopicIds],
      partitions: [...published.partitions.values()],
      stopReplicas: published.stopReplicas,
    };
    const linked = [...this.allBrokers().values()].filter((broker) => isLinked(broker.standing));
    const to = linked.map((broker) => broker.registration.brokerId);
    const others = to.filter((brokerId) => !this.imaged.has(brokerId));
    return others.length === 0 ? [] : [{ type: 'publish', publication, to: others }];
  }

  private isPublicationDirty(): boolean {
    return Object.values(this.published).some((part) => part.size > 0);
  }
}

/** A topic as first read, nothing of it decided yet. */
export function newTopic(
  record: TopicRecord,
  states: readonly VersionedPartitionState[],
): TopicState {
  const byNumber = new Map(
    states
      .filter((state) => state.topicId === record.topicId)
      .map((state) => [state.partition, state]),
  );
  const partitions = record.assignment.map((replicas, partition) => ({
    replicas,
    adding: record.reassignments?.get(partition)?.adding ?? [],
    removing: record.reassignments?.get(partition)?.removing ?? [],
    stored: byNumber.get(partition),
    isOrphan: false,
    write: undefined,
    waiting: [],
  }));
  const none = { published: false, deletion: undefined, update: undefined };
  return { record, ...topicRules(record), partitions, ...none };
}
