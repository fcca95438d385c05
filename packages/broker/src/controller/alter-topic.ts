/**
 * Settings and count of partitions of a topic, as a person asks for them: all or nothing, in one update of the topic.
 * Part of `step`, called by the command duties.
 *
 * Invariant: no leader counts with a lower min ISR while a member that left under the higher one may still be elected:
 * the leader alone would commit what that member has not. So the eligible leaders go first, then the setting is written.
 */
import { parseTopicConfig, seededRandom, topicSettings, TributaryError } from '@tributary/common';
import type { TopicRecord } from '@tributary/coordination';
import type { AlterTopicRequest } from '@tributary/protocol';
import { placeReplicas } from '../placement/place-replicas';
import { placementBrokers } from '../placement/replica-load';
import type { ControllerDraft } from './controller-draft';
import { dutyOf, type PendingCommand, type TopicState } from './controller-state';
import { reconcileTopic } from './partition-duties';
import { replicationFactorOf, topicRules } from './topic-rules';
import { beginTopicUpdate } from './topic-update-duties';
import { waitForWrite } from './waiting-commands';

export interface AlterTopicSettings {
  readonly maxPartitionsPerTopic: number;
}

export function alterTopic(
  draft: ControllerDraft,
  command: PendingCommand,
  request: AlterTopicRequest,
  settings: AlterTopicSettings,
): void {
  const topic = topicNamed(draft, request);
  if (topic.update && !request.validateOnly) return waitForWrite(draft, command);
  const { record } = topic;
  const configs = alteredConfigs(record, request);
  const assignment = alteredAssignment(draft, record, request, settings);
  const after = { ...record, configs, assignment };
  const { brokerId } = command;
  const { requestId } = command.request;
  const { topic: name, topicId } = record;
  const alteredTopic = {
    topic: name,
    topicId,
    configs: { ...configs },
    partitions: assignment.length,
  };
  const answer = { alteredTopic, outcome: 'alteredTopic' } as const;
  const isSame = configs === record.configs && assignment === record.assignment;
  if (request.validateOnly || isSame) {
    return draft.effectAfter({ type: 'answer-command', brokerId, requestId, answer });
  }
  const ready = readyForMinIsr(draft, topic, topicRules(after).minIsr);
  if (!ready) return waitForWrite(draft, command);
  const commands = [{ brokerId, requestId, answer }];
  beginTopicUpdate(draft, ready, { after, why: whyOf(record, after), commands });
}

/** Throws UNKNOWN_TOPIC, TOPIC_ID_MISMATCH. */
function topicNamed(draft: ControllerDraft, request: AlterTopicRequest): TopicState {
  const { topic: name, topicId } = request;
  const topic = [...draft.allTopics().values()].find(({ record }) => record.topic === name);
  if (!topic) throw new TributaryError('UNKNOWN_TOPIC', `topic ${name} does not exist`);
  if (topicId !== '' && topicId !== topic.record.topicId) {
    const message = `topic ${name} has id ${topic.record.topicId}, not ${topicId}`;
    throw new TributaryError('TOPIC_ID_MISMATCH', message);
  }
  if (topic.deletion) {
    const hint = 'Wait until its deletion is complete, then create it again.';
    throw new TributaryError('UNKNOWN_TOPIC', `topic ${name} is being deleted`, { hint });
  }
  return topic;
}

/** Throws INVALID_CONFIG. The very same object where nothing changes. */
function alteredConfigs(record: TopicRecord, request: AlterTopicRequest): TopicRecord['configs'] {
  const { setConfigs, removeConfigs } = request;
  for (const name of removeConfigs) {
    if (Object.hasOwn(setConfigs, name)) {
      throw invalidConfig(`topic setting ${name} is both set and removed`);
    }
    if (!Object.hasOwn(topicSettings, name) && !Object.hasOwn(record.configs, name)) {
      throw invalidConfig(`topic setting ${name} does not exist`, settingsHint);
    }
  }
  const kept = Object.entries(record.configs).filter(([name]) => !removeConfigs.includes(name));
  const configs = { ...Object.fromEntries(kept), ...setConfigs };
  const factor = replicationFactorOf(record);
  const { minInsyncReplicas } = parseTopicConfig(configs, factor);
  if (minInsyncReplicas > factor) {
    throw invalidConfig(
      `min.insync.replicas=${minInsyncReplicas} with replication factor ${factor}`,
    );
  }
  const names = new Set([...Object.keys(configs), ...Object.keys(record.configs)]);
  const isSame = [...names].every((name) => configs[name] === record.configs[name]);
  return isSame ? record.configs : configs;
}

const settingsHint = `The settings are: ${Object.keys(topicSettings).join(', ')}.`;

function invalidConfig(message: string, hint?: string): TributaryError {
  return new TributaryError('INVALID_CONFIG', message, hint === undefined ? {} : { hint });
}

/** Throws INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, UNKNOWN_BROKER. The very same array where nothing changes. */
function alteredAssignment(
  draft: ControllerDraft,
  record: TopicRecord,
  request: AlterTopicRequest,
  { maxPartitionsPerTopic }: AlterTopicSettings,
): TopicRecord['assignment'] {
  const { assignment } = record;
  const wanted = request.partitions || assignment.length;
  if (wanted < assignment.length) {
    const message = `topic ${record.topic} has ${assignment.length} partitions, which cannot become ${wanted}`;
    const hint = 'Partitions can only be added. To have fewer, create another topic and copy.';
    throw new TributaryError('INVALID_PARTITIONS', message, { hint });
  }
  if (wanted > maxPartitionsPerTopic) {
    const message = `${wanted} partitions, where ${maxPartitionsPerTopic} are possible`;
    throw new TributaryError('INVALID_PARTITIONS', message);
  }
  const added = wanted - assignment.length;
  const given = request.newAssignments.map(({ replicas }) => replicas);
  if (given.length > 0 && given.length !== added) {
    const message = `${given.length} assignments for ${added} new partitions`;
    throw new TributaryError('INVALID_PARTITIONS', message);
  }
  if (added === 0) return assignment;
  if (given.length === 0) return [...assignment, ...placed(draft, record, added)];
  for (const replicas of given) checkReplicas(draft, record, replicas);
  return [...assignment, ...given];
}

function checkReplicas(draft: ControllerDraft, record: TopicRecord, replicas: number[]): void {
  const factor = replicationFactorOf(record);
  const shown = replicas.join(',');
  if (replicas.length !== factor || new Set(replicas).size !== factor) {
    const message = `assignment ${shown} does not name ${factor} different brokers, as topic ${record.topic} has`;
    throw new TributaryError('INVALID_REPLICATION_FACTOR', message);
  }
  for (const brokerId of replicas) {
    if (draft.broker(brokerId) && dutyOf(draft.state, brokerId) !== 'decommissioned') continue;
    const why = draft.broker(brokerId) ? 'is decommissioned' : 'is not registered';
    throw new TributaryError('UNKNOWN_BROKER', `assignment ${shown}: broker ${brokerId} ${why}`);
  }
}

function placed(draft: ControllerDraft, record: TopicRecord, partitions: number): number[][] {
  const registered = [...draft.allBrokers().values()].map(({ registration }) => registration);
  const brokers = placementBrokers(registered, (brokerId) => dutyOf(draft.state, brokerId));
  const replicationFactor = replicationFactorOf(record);
  if (brokers.length < replicationFactor) {
    const message = `replication factor ${replicationFactor} with ${brokers.length} brokers that take new replicas`;
    throw new TributaryError('INVALID_REPLICATION_FACTOR', message);
  }
  const existing = record.assignment;
  // The same state decides the same, so that a step can be replayed.
  const random = seededRandom(draft.state.sequence);
  return placeReplicas({ brokers, partitions, replicationFactor, existing }, random);
}

/** undefined: members that left the ISR under the present min ISR must lose their seats first. */
function readyForMinIsr(
  draft: ControllerDraft,
  topic: TopicState,
  minIsr: number,
): TopicState | undefined {
  if (minIsr >= topicRules(topic.record).minIsr) return topic;
  const { topicId } = topic.record;
  // From now on, so that nobody gets such a seat while the setting is being written.
  draft.setTopic({ ...topic, minIsr: Math.min(topic.minIsr, minIsr) });
  reconcileTopic(draft, topicId);
  const lowered = draft.allTopics().get(topicId);
  return lowered && !hasSeatAbove(lowered, minIsr) ? lowered : undefined;
}

/** Some may be elected who left an ISR that is large enough to commit without them. */
function hasSeatAbove({ partitions }: TopicState, minIsr: number): boolean {
  return partitions.some(({ stored, write, isOrphan }) =>
    [stored, write?.state].some(
      (state) =>
        !isOrphan && state && state.eligibleLeaders.length > 0 && state.isr.length >= minIsr,
    ),
  );
}

function whyOf(before: TopicRecord, after: TopicRecord): string {
  const names = Object.keys({ ...before.configs, ...after.configs });
  const changes = names.flatMap((name) => {
    const value = after.configs[name];
    if (value === before.configs[name]) return [];
    return [value === undefined ? `${name} back to its default` : `${name}=${value}`];
  });
  const count = after.assignment.length;
  if (count > before.assignment.length) changes.push(`${count} partitions`);
  return `asked for: ${changes.join(', ')}`;
}
