/**
 * The public admin: topics, cluster, offsets, groups. Invariant: every call is bounded by its timeout and its
 * signal; nothing is cached that a person would take for the present. Made by the client.
 */
import { Deadline, TributaryError, validateTopicName } from '@tributary/common';
import { methods } from '@tributary/protocol';
import type { CallOptions } from '../call-options';
import type { ClientContext, TopicView } from '../seams';
import { acceptLoss } from './accept-loss';
import type {
  AcceptedLoss,
  AcceptLossOptions,
  ClusterDescription,
  CreatedTopic,
  CreateTopicOptions,
  DeletedRecords,
  DeletionOffsets,
  DescribedGroup,
  DescribeTopicOptions,
  ListedOffset,
  ListOffsetsOptions,
  NewGroupOffset,
  NewTopic,
  OffsetQuery,
  ResetOffsetsOptions,
  ResetTarget,
  TopicDescription,
  TopicListing,
} from './admin-types';
import { requireShape, shapes, type Shape } from './argument-shapes';
import { askAnyBroker } from './any-broker';
import { alterBroker, describeBrokers, listDecisions } from './broker-admin';
import { brokerTimeout } from './broker-timeout';
import type {
  AlteredBroker,
  AlteredTopic,
  AlterTopicOptions,
  BrokerAlteration,
  BrokerDescription,
  DecisionList,
  ElectLeadersOptions,
  ListDecisionsOptions,
  ListReassignmentsOptions,
  NamedPartition,
  OngoingReassignment,
  PartitionMove,
  PartitionResult,
  TopicAlteration,
} from './cluster-types';
import { GroupAdmin } from './group-admin';
import { describePartitions, listingOf, toListedOffset, withOutages } from './topic-description';
import { requireAnswer } from './leader-calls';
import { cancelReassignments, electLeaders, ongoingReassignments, reassign } from './reassignments';
import { alterTopic } from './topic-alteration';
import { lookUpOffsets } from './partition-offsets';
import { deleteRecords } from './record-deletion';

export class Admin {
  private readonly groups: GroupAdmin;

  /** Use `client.admin`. */
  constructor(private readonly context: ClientContext) {
    this.groups = new GroupAdmin(context);
  }

  /** Resolves when every partition has a leader. Throws TOPIC_EXISTS, INVALID_TOPIC, INVALID_CONFIG and the like. */
  async createTopic(topic: NewTopic, options: CreateTopicOptions = {}): Promise<CreatedTopic> {
    const deadline = this.deadline('createTopic', options, shapes.validated);
    requireShape('createTopic', 'topic', topic, shapes.newTopic);
    validateTopicName(topic.topic);
    const request = {
      topic: topic.topic,
      partitions: topic.partitions ?? 0,
      replicationFactor: topic.replicationFactor ?? 0,
      configs: { ...topic.configs },
      timeoutMs: brokerTimeout(deadline),
      validateOnly: options.validateOnly ?? false,
    };
    const { createTopic } = methods.admin;
    const created = await askAnyBroker(this.context, createTopic, request, deadline, 'write');
    const { topicId, partitions, replicationFactor } = created;
    return { topic: topic.topic, topicId, partitions, replicationFactor };
  }

  /** Throws UNKNOWN_TOPIC. Its records are gone for good. */
  async deleteTopic(topic: string, options: CallOptions = {}): Promise<void> {
    const deadline = this.deadline('deleteTopic', options);
    validateTopicName(topic);
    const request = { topic, timeoutMs: brokerTimeout(deadline) };
    const { deleteTopic } = methods.admin;
    await askAnyBroker(this.context, deleteTopic, request, deadline, 'write');
    const gone = new TributaryError('UNKNOWN_TOPIC', `topic ${topic} was deleted`);
    this.context.metadata.reportFailure(topic, 0, -1, gone);
  }

  async listTopics(options: CallOptions = {}): Promise<TopicListing[]> {
    const deadline = this.deadline('listTopics', options);
    const { topics } = await this.context.metadata.snapshot(deadline);
    return topics.map(listingOf);
  }

  /** Throws UNKNOWN_TOPIC. */
  async describeTopic(
    topic: string,
    options: DescribeTopicOptions = {},
  ): Promise<TopicDescription> {
    const deadline = this.deadline('describeTopic', options, shapes.describeTopic);
    const view = await withOutages(this.context, await this.freshTopic(topic, deadline), deadline);
    const listing = listingOf(view);
    if (options.offsets === false) return listing;
    const partitions = await describePartitions(this.context, view, deadline);
    return { ...listing, partitions };
  }

  async describeCluster(options: CallOptions = {}): Promise<ClusterDescription> {
    const deadline = this.deadline('describeCluster', options);
    const { describeCluster } = methods.admin;
    const answer = await askAnyBroker(this.context, describeCluster, {}, deadline, 'question');
    const { controllerId, brokers, ...rest } = answer;
    return {
      ...rest,
      controllerId: controllerId < 0 ? undefined : controllerId,
      brokers: brokers.map((broker) => ({ ...broker, rack: broker.rack || undefined })),
    };
  }

  /** By partition. Throws when a leader does not answer in time. */
  async listOffsets(
    topic: string,
    query: OffsetQuery,
    options: ListOffsetsOptions = {},
  ): Promise<ListedOffset[]> {
    const deadline = this.deadline('listOffsets', options, shapes.partitionsOfTopic);
    const view = await this.freshTopic(topic, deadline);
    const partitions = options.partitions ?? view.partitions.map(({ partition }) => partition);
    const answers = await lookUpOffsets(this.context, { topic, partitions, query }, deadline);
    return partitions.map((partition) => toListedOffset(requireAnswer(answers.get(partition))));
  }

  /**
   * For a partition that nobody can lead because a replica is damaged: drops what is damaged of it, keeps the rest, and
   * lets it lead. Resolves when it does. Throws INELIGIBLE_REPLICA where another replica could serve instead.
   */
  async acceptLoss(
    topic: string,
    partition: number,
    options: AcceptLossOptions,
  ): Promise<AcceptedLoss> {
    const deadline = this.deadline('acceptLoss', options, shapes.acceptLoss);
    const view = await this.freshTopic(topic, deadline);
    const { brokerId, force } = options;
    const timeoutMs = brokerTimeout(deadline);
    const replica = { topic: view, partition, brokerId, force, timeoutMs };
    return acceptLoss(this.context, replica, deadline);
  }

  /**
   * Makes these offsets the first ones that can be read; resolves when the in-sync replicas have done it, with where each
   * partition starts then. Throws OFFSET_OUT_OF_RANGE for an offset that is not committed yet. Gone for good.
   */
  async deleteRecords(
    topic: string,
    before: DeletionOffsets,
    options: CallOptions = {},
  ): Promise<DeletedRecords[]> {
    const deadline = this.deadline('deleteRecords', options);
    requireShape('deleteRecords', 'before', before, shapes.deletions);
    await this.freshTopic(topic, deadline);
    return deleteRecords(this.context, topic, before, deadline);
  }

  /**
   * Settings and count of partitions, all or nothing; resolves when it is in force and new partitions have leaders. Throws
   * UNKNOWN_TOPIC, INVALID_CONFIG, INVALID_PARTITIONS (there are never fewer), INVALID_ARGUMENT.
   */
  async alterTopic(
    topic: string,
    alteration: TopicAlteration,
    options: AlterTopicOptions = {},
  ): Promise<AlteredTopic> {
    const deadline = this.deadline('alterTopic', options, shapes.validated);
    requireShape('alterTopic', 'alteration', alteration, shapes.topicAlteration);
    const { validateOnly = false } = options;
    const wanted = { ...alteration, validateOnly };
    return alterTopic(this.context, topic, wanted, deadline);
  }

  /**
   * Moves replicas (KIP-455); resolves when it is begun, in the order of `moves`, with what was refused. It goes on by
   * itself, also when the controller changes: see `listReassignments`. A move of a partition that is being moved replaces that.
   * What is refused for now only is asked for again until the deadline.
   */
  async reassignPartitions(
    moves: readonly PartitionMove[],
    options: CallOptions = {},
  ): Promise<PartitionResult[]> {
    requireShape('reassignPartitions', 'moves', moves, shapes.moves);
    return reassign(this.context, moves, this.deadline('reassignPartitions', options));
  }

  /** Back to the replicas from before; default: of all partitions that are being moved. */
  async cancelReassignments(
    partitions?: readonly NamedPartition[],
    options: CallOptions = {},
  ): Promise<PartitionResult[]> {
    requireShape('cancelReassignments', 'partitions', partitions, shapes.cancelled);
    return cancelReassignments(
      this.context,
      partitions,
      this.deadline('cancelReassignments', options),
    );
  }

  /** Partitions that are being moved now; one that is done is not listed any more. */
  async listReassignments(options: ListReassignmentsOptions = {}): Promise<OngoingReassignment[]> {
    return ongoingReassignments(
      this.context,
      options,
      this.deadline('listReassignments', options, shapes.listReassignments),
    );
  }

  /** Resolves when they lead. `unclean` loses records, and is refused where somebody in sync can lead. */
  async electLeaders(options: ElectLeadersOptions): Promise<PartitionResult[]> {
    return electLeaders(
      this.context,
      options,
      this.deadline('electLeaders', options, shapes.election),
    );
  }

  /**
   * Settings that apply while it runs, and duty, of one broker or (settings alone) of all. Throws INVALID_CONFIG for a
   * setting that cannot be altered.
   */
  async alterBroker(
    broker: number | 'all',
    alteration: BrokerAlteration,
    options: CallOptions = {},
  ): Promise<AlteredBroker> {
    requireShape('alterBroker', 'alteration', alteration, shapes.brokerAlteration);
    if (broker !== 'all') requireShape('alterBroker', 'broker', broker, shapes.brokerId);
    return alterBroker(this.context, broker, alteration, this.deadline('alterBroker', options));
  }

  /** For maintenance: from now on it leads nothing that another broker can lead. It keeps its replicas. */
  async drainBroker(brokerId: number, options: CallOptions = {}): Promise<AlteredBroker> {
    requireShape('drainBroker', 'brokerId', brokerId, shapes.brokerId);
    return this.alterBroker(brokerId, { duty: 'drained' }, options);
  }

  /** For good: its leaderships and, one after another, its replicas go to other brokers. See `describeBrokers`. */
  async decommissionBroker(brokerId: number, options: CallOptions = {}): Promise<AlteredBroker> {
    requireShape('decommissionBroker', 'brokerId', brokerId, shapes.brokerId);
    return this.alterBroker(brokerId, { duty: 'decommissioned' }, options);
  }

  /** Back in service, from being drained or decommissioned. */
  async returnBroker(brokerId: number, options: CallOptions = {}): Promise<AlteredBroker> {
    requireShape('returnBroker', 'brokerId', brokerId, shapes.brokerId);
    return this.alterBroker(brokerId, { duty: 'in service' }, options);
  }

  /** Those that are registered, and those that are away but have replicas, a duty or settings; by id. */
  async describeBrokers(options: CallOptions = {}): Promise<BrokerDescription[]> {
    return describeBrokers(this.context, this.deadline('describeBrokers', options));
  }

  /**
   * What the controllers decided, and why: of every broker that answers, since it was started. Throws only where none
   * answers.
   */
  async listDecisions(options: ListDecisionsOptions = {}): Promise<DecisionList> {
    return listDecisions(
      this.context,
      options.limit,
      this.deadline('listDecisions', options, shapes.listDecisions),
    );
  }

  async listGroups(options: CallOptions = {}): Promise<string[]> {
    return this.groups.list(this.deadline('listGroups', options));
  }

  /** Members, owners, committed offsets and lag. A group that nobody used is empty. */
  async describeGroup(group: string, options: CallOptions = {}): Promise<DescribedGroup> {
    return this.groups.describe(group, this.deadline('describeGroup', options));
  }

  /** Of a stopped group. Throws FENCED_OWNER while one of the partitions has an owner. */
  async commitGroupOffsets(
    group: string,
    offsets: readonly NewGroupOffset[],
    options: CallOptions = {},
  ): Promise<void> {
    await this.groups.commit(group, offsets, this.deadline('commitGroupOffsets', options));
  }

  /** Moves a stopped group within a topic; answers where it stands then. Throws FENCED_OWNER. */
  async resetGroupOffsets(
    group: string,
    topic: string,
    to: ResetTarget,
    options: ResetOffsetsOptions = {},
  ): Promise<NewGroupOffset[]> {
    const deadline = this.deadline('resetGroupOffsets', options, shapes.partitionsOfTopic);
    const view = await this.freshTopic(topic, deadline);
    const partitions = options.partitions ?? view.partitions.map(({ partition }) => partition);
    const offsets = await this.groups.targets(topic, partitions, to, deadline);
    await this.groups.commit(group, offsets, deadline);
    return offsets;
  }

  private async freshTopic(topic: string, deadline: Deadline): Promise<TopicView> {
    validateTopicName(topic);
    const { metadata } = this.context;
    await metadata.refresh([topic], deadline);
    return metadata.topic(topic, deadline);
  }

  /** Refuses options that the call does not have, first of all. */
  private deadline(call: string, options: CallOptions, shape: Shape = shapes.bounds): Deadline {
    requireShape(call, 'options', options, shape);
    const { clock, closing, requestTimeoutMs } = this.context;
    if (closing.aborted) throw new TributaryError('CLOSED', 'the client is closed');
    return Deadline.after(clock, options.timeoutMs ?? requestTimeoutMs, options.signal);
  }
}
