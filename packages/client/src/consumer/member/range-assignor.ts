/**
 * Kafka's range assignor: per topic, its partitions in order are cut into one run for each subscribed
 * member, in order of member id; the first members get the remainder. Pure and deterministic: any member
 * that computes it from the same view gets the same answer. Called by the member machine.
 */
import type { GroupPartition, GroupView, MemberAssignment } from '@tributary/coordination';

export type TopicPartitions = ReadonlyMap<string, readonly GroupPartition[]>;

/** Names every member, also those that get nothing. */
export function assignRanges(
  members: readonly { readonly memberId: string; readonly topics: readonly string[] }[],
  partitions: TopicPartitions,
): MemberAssignment[] {
  const sorted = [...members].sort((a, b) => compare(a.memberId, b.memberId));
  const shares = new Map<string, GroupPartition[]>(sorted.map(({ memberId }) => [memberId, []]));
  for (const topic of [...partitions.keys()].sort(compare)) {
    const subscribed = sorted.filter((member) => member.topics.includes(topic));
    const all = [...(partitions.get(topic) ?? [])].sort((a, b) => a.partition - b.partition);
    let from = 0;
    subscribed.forEach(({ memberId }, rank) => {
      const share = Math.floor(all.length / subscribed.length);
      const size = share + (rank < all.length % subscribed.length ? 1 : 0);
      shares.get(memberId)?.push(...all.slice(from, from + size));
      from += size;
    });
  }
  return sorted.map(({ memberId }) => ({ memberId, partitions: shares.get(memberId) ?? [] }));
}

/** Do they give the same partitions to the same members? The order of neither matters. */
export function sameAssignment(
  a: readonly MemberAssignment[],
  b: readonly MemberAssignment[],
): boolean {
  return canonical(a) === canonical(b);
}

/** True while the assignment speaks of other members than the group has. */
export function membersChanged(view: GroupView): boolean {
  if (view.generation < 0) return true;
  const assigned = new Set(view.assignment.map(({ memberId }) => memberId));
  return (
    assigned.size !== view.members.length ||
    view.members.some(({ memberId }) => !assigned.has(memberId))
  );
}

/** All topics that any member wants, sorted. */
export function subscribedTopics(view: GroupView): string[] {
  return [...new Set(view.members.flatMap(({ topics }) => topics))].sort(compare);
}

function canonical(assignment: readonly MemberAssignment[]): string {
  const lines = assignment.map(({ memberId, partitions }) =>
    [
      memberId,
      ...partitions.map((p) => `${p.topic}/${p.topicId}/${p.partition}`).sort(compare),
    ].join(' '),
  );
  return lines.sort(compare).join('\n');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
