/**
 * What the topic's node notes of replicas that were moved away from brokers that were not registered. Pure. Invariant: no
 * broker that is in a partition's assignment owes the deletion of its replica. See owed-replicas.ts.
 */
import type { TopicRecord } from '@tributary/coordination';

/** Brokers that owe the deletion of one partition's replica. Of more, the oldest are given up. */
export const maxOwedReplicas = 10;

/** These brokers owe it, the newest last. The very same record where it says so already. */
export function withOwed(
  record: TopicRecord,
  partition: number,
  brokerIds: readonly number[],
): TopicRecord {
  const assigned = record.assignment[partition] ?? [];
  const ids = brokerIds.filter((id) => !assigned.includes(id)).slice(-maxOwedReplicas);
  const before = record.owed?.get(partition) ?? [];
  if (before.length === ids.length && before.every((id, at) => id === ids[at])) return record;
  const owed = new Map(record.owed);
  if (ids.length > 0) owed.set(partition, ids);
  else owed.delete(partition);
  const { owed: _, ...rest } = record;
  return owed.size > 0 ? { ...rest, owed } : rest;
}

/** Whoever was taken into an assignment again owes nothing. */
export function withoutAssigned(record: TopicRecord): TopicRecord {
  return [...(record.owed ?? [])].reduce(
    (cleared, [partition, ids]) => withOwed(cleared, partition, ids),
    record,
  );
}
