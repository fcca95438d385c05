/**
 * Admin.ElectLeaders on any broker: gives leaderships back to the preferred replicas, or lets a replica lead that lacks
 * committed records. Passed on to the controller; answered when this broker's image shows the leaders.
 * Called through `adminHandlers`.
 */
import { TributaryError } from '@tributary/common';
import type {
  CallContext,
  ElectLeadersRequest,
  ElectLeadersResponseInput,
  PartitionAnswer,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import {
  askController,
  commandDeadline,
  untilShown,
  type CommandOptions,
} from './admin-ask-controller';
import { checkPartitionNames, invalid } from './admin-checks';
import { isRefused } from './admin-reassign-partitions';

export async function electLeaders(
  options: CommandOptions,
  request: ElectLeadersRequest,
  context: CallContext,
): Promise<ElectLeadersResponseInput> {
  check(request);
  const deadline = commandDeadline(options, request.timeoutMs, context);
  const before = options.metadata.image;
  const command = { electLeaders: request, command: 'electLeaders' } as const;
  const answer = (await askController(options, command, deadline)).electedLeaders;
  if (!answer) throw new TributaryError('INTERNAL', 'the controller answered something else');
  const elected = answer.partitions.filter((one) => !isRefused(one));
  const shows = (image: MetadataImage): boolean =>
    elected.every((one) => showsLeader(image, before, request, one));
  await untilShown(options, shows, deadline, 'the leaders were elected');
  return answer;
}

function check({ kind, partitions }: ElectLeadersRequest): void {
  checkPartitionNames(partitions);
  if (kind === 'ELECTION_KIND_PREFERRED') return;
  if (kind !== 'ELECTION_KIND_UNCLEAN') {
    throw invalid(
      'the kind of the election is not given',
      'Ask for a preferred or an unclean one.',
    );
  }
  if (partitions.length === 0) {
    throw invalid(
      'an unclean election of all partitions',
      'It loses records: name each partition that shall be led in spite of that.',
    );
  }
}

/** Its leader is as wanted, or another one came after this election. */
function showsLeader(
  image: MetadataImage,
  before: MetadataImage,
  { kind }: ElectLeadersRequest,
  { topicId, partition }: PartitionAnswer,
): boolean {
  const state = image.partition(topicId, partition);
  if (!state) return image.topicById(topicId) === undefined;
  const epochBefore = before.partition(topicId, partition)?.leaderEpoch ?? -1;
  if (state.leader >= 0 && state.leaderEpoch > epochBefore) return true;
  return kind === 'ELECTION_KIND_UNCLEAN' ? state.leader >= 0 : state.leader === state.replicas[0];
}
