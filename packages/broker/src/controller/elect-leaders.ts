/**
 * Elections that a person asks for. Part of `step`, called by the command duties. A preferred one never loses anything; an
 * unclean one does, so it is done only on the partitions that are named, and where nobody can lead without loss.
 */
import { partitionKey, TributaryError } from '@tributary/common';
import type { ElectLeadersRequest, PartitionName } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand, TopicState } from './controller-state';
import { beginElection } from './elections';
import {
  leaderCandidate,
  ledBy,
  uncleanCandidate,
  whyUnclean,
  type Decision,
} from './partition-decision';
import { PartitionSeats } from './partition-seats';
import { beginWrite, viewOf } from './partition-view';
import { isImbalanced, preferredProblem } from './preferred-leaders';
import {
  answerFor,
  checkCount,
  namedTopics,
  wrongTopic,
  type NamedTopics,
} from './reassign-partitions';
import { waitForWrite } from './waiting-commands';

export function electLeaders(
  draft: ControllerDraft,
  command: PendingCommand,
  { kind, partitions }: ElectLeadersRequest,
): void {
  if (kind === 'ELECTION_KIND_UNSPECIFIED') {
    throw new TributaryError('INVALID_ARGUMENT', 'the kind of the election is not given');
  }
  if (kind === 'ELECTION_KIND_UNCLEAN' && partitions.length === 0) {
    const message = 'an unclean election loses records: its partitions must be named';
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  checkCount(partitions.length);
  const named = namedTopics(draft);
  const asked = partitions.length > 0 ? partitions : allImbalanced(draft, named);
  if (asked.some((each) => entryOf(named, each)?.write)) return waitForWrite(draft, command);
  const decide = kind === 'ELECTION_KIND_UNCLEAN' ? decideUnclean : decidePreferred;
  const waiting = new Map<string, number>();
  const answers = asked.map((each, index) => {
    try {
      const topic = topicOf(named, each);
      const { topicId } = topic.record;
      const decision = decide(draft, topic, each.partition);
      if (decision) {
        beginWrite(draft, topicId, each.partition, { ...decision, request: undefined });
        waiting.set(partitionKey(topicId, each.partition), index);
      }
      return answerFor(each, named, undefined);
    } catch (thrown) {
      return answerFor(each, named, TributaryError.from(thrown));
    }
  });
  const { brokerId, request } = command;
  beginElection(draft, { brokerId, requestId: request.requestId, answers, waiting });
}

function allImbalanced(draft: ControllerDraft, named: NamedTopics): PartitionName[] {
  const view = viewOf(draft);
  return [...named.values()].flatMap((topic) =>
    topic.partitions.flatMap((_, partition) => {
      const { topic: name, topicId } = topic.record;
      return isImbalanced(view, topic, partition) ? [{ topic: name, topicId, partition }] : [];
    }),
  );
}

function entryOf(named: NamedTopics, { topic, partition }: PartitionName) {
  return named.get(topic)?.partitions[partition];
}

function topicOf(named: NamedTopics, name: PartitionName): TopicState {
  const problem = wrongTopic(name, named);
  if (problem) throw problem;
  const topic = named.get(name.topic);
  const entry = topic?.partitions[name.partition];
  if (topic && entry?.stored && !entry.write) return topic;
  const where = `${name.topic}-${name.partition}`;
  if (!entry) throw new TributaryError('UNKNOWN_PARTITION', `there is no partition ${where}`);
  // Named twice, or not created yet.
  throw new TributaryError('UNAVAILABLE', `${where} is being changed at this moment; try again`);
}

/** undefined: it leads already. */
function decidePreferred(
  draft: ControllerDraft,
  topic: TopicState,
  partition: number,
): Decision | undefined {
  const view = viewOf(draft);
  const entry = topic.partitions[partition];
  const preferred = entry?.replicas[0];
  if (!entry?.stored || preferred === undefined || entry.stored.leader === preferred)
    return undefined;
  const problem = preferredProblem(view, topic, partition);
  if (problem !== undefined)
    throw ineligible(problem, view.drained.has(preferred) ? preferred : undefined);
  return ledBy(
    { ...view, topic, partition, mayStartMove: false },
    preferred,
    'a person asked for it',
  );
}

/** @param drained the broker that a person keeps from leading: waiting does not help, as the hint of the code says. */
function ineligible(problem: string, drained: number | undefined): TributaryError {
  if (drained === undefined) return new TributaryError('INELIGIBLE_REPLICA', problem);
  const hint = `It leads again once it is back in service: trib broker return ${drained}.`;
  return new TributaryError('INELIGIBLE_REPLICA', problem, { hint });
}

function decideUnclean(
  draft: ControllerDraft,
  topic: TopicState,
  partition: number,
): Decision | undefined {
  const view = viewOf(draft);
  const entry = topic.partitions[partition];
  const { stored } = entry ?? {};
  if (!entry || !stored) return undefined;
  const where = `${topic.record.topic}-${partition}`;
  const safe = stored.leader >= 0 ? stored.leader : leaderCandidate(topic, partition, view.brokers);
  if (safe !== undefined) {
    const message = `${where}: broker ${safe} ${stored.leader >= 0 ? 'leads' : 'can lead'} without any loss`;
    const hint =
      stored.leader >= 0
        ? 'An unclean election is for a partition without a leader.'
        : 'Wait: it is elected by itself.';
    throw new TributaryError('INELIGIBLE_REPLICA', message, { hint });
  }
  const seats = new PartitionSeats(topic, stored, view.brokers);
  const chosen = uncleanCandidate(entry, seats);
  if (chosen === undefined) {
    const message = `none of the replicas ${entry.replicas.join(',')} of ${where} can lead now`;
    throw new TributaryError('LEADER_NOT_AVAILABLE', message);
  }
  const why = `a person asked for it; ${whyUnclean(stored, seats, chosen)}`;
  return ledBy({ ...view, topic, partition, mayStartMove: false }, chosen, why);
}
