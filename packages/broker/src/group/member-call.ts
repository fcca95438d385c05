/** One call of a member, carried out on its membership in the store. Throws what the store throws. */
import { TributaryError } from '@tributary/common';
import type { GroupMembership } from '@tributary/coordination';
import type { MemberCall, MemberResultInput } from '@tributary/protocol';
import {
  checkedOffset,
  checkedPartition,
  claimedToWire,
  commitResults,
  viewToWire,
} from './group-messages';

export async function runMemberCall(
  membership: GroupMembership,
  call: MemberCall,
): Promise<MemberResultInput> {
  if (call.read) return { result: 'view', view: viewToWire(await membership.read()) };
  if (call.assign) {
    const { expectedGeneration, assignment } = call.assign;
    const checked = assignment.map(({ memberId, partitions }) => ({
      memberId,
      partitions: partitions.map(checkedPartition),
    }));
    const generation = await membership.assign(expectedGeneration, checked);
    return { result: 'assigned', assigned: { generation } };
  }
  if (call.claim) {
    const partition = checkedPartition(call.claim.partition);
    const ownership = await membership.claim(partition, call.claim.generation);
    return { result: 'claimed', claimed: claimedToWire(ownership) };
  }
  if (call.release) {
    await membership.release(checkedPartition(call.release.partition), call.release.ownerEpoch);
    return { result: 'released', released: {} };
  }
  if (call.commit) {
    const commits = call.commit.offsets.map((owned) => ({
      partition: checkedPartition(owned.partition),
      ownerEpoch: owned.ownerEpoch,
      offset: checkedOffset(owned.offset),
      leaderEpoch: owned.leaderEpoch,
      metadata: owned.metadata,
    }));
    const errors = await membership.commit(commits);
    const partitions = commits.map(({ partition }) => partition);
    return { result: 'committed', committed: { results: commitResults(partitions, errors) } };
  }
  throw new TributaryError('INVALID_ARGUMENT', 'a member call of an unknown kind');
}
