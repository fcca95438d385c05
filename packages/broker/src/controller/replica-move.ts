/**
 * The move of one partition's replicas (KIP-455), as plain arithmetic on what the topic's node says. Pure.
 *
 * The assignment of a partition that is moved lists the target first, in its order, then those that go. `adding` are all
 * that were not there before, `removing` all that are not in the target; one that was to be added and is not wanted any
 * more is in both. So what was before, and what shall be, can always be told from the node alone.
 */
import type { Reassignment } from '@tributary/coordination';
import type { PartitionEntry } from './controller-state';

export interface ReplicaMove {
  /** The first is the preferred leader. */
  readonly target: readonly number[];
  /** Before the move. */
  readonly origin: readonly number[];
  /** In the target, and new. */
  readonly joining: readonly number[];
  readonly removing: readonly number[];
}

type Moving = Pick<PartitionEntry, 'replicas' | 'adding' | 'removing'>;

/** undefined: nothing is moved. */
export function moveOf(entry: Moving): ReplicaMove | undefined {
  const { replicas, adding, removing } = entry;
  if (adding.length === 0 && removing.length === 0) return undefined;
  return {
    target: replicas.filter((id) => !removing.includes(id)),
    origin: replicas.filter((id) => !adding.includes(id)),
    joining: adding.filter((id) => !removing.includes(id)),
    removing,
  };
}

export interface PlannedMove {
  readonly assignment: readonly number[];
  /** undefined: only the order changes. */
  readonly reassignment: Reassignment | undefined;
}

/** Also while another move is under way: what was before that one is still what was before. */
export function planMove(entry: Moving, target: readonly number[]): PlannedMove {
  const { replicas, adding: earlier } = entry;
  const origin = replicas.filter((id) => !earlier.includes(id));
  const assignment = [...target, ...replicas.filter((id) => !target.includes(id))];
  const adding = assignment.filter((id) => !origin.includes(id));
  const removing = assignment.filter((id) => !target.includes(id));
  const isStill = adding.length === 0 && removing.length === 0;
  return { assignment, reassignment: isStill ? undefined : { adding, removing } };
}

/** Those that take part now, as the leader epoch was begun. */
export function takingPart(entry: PartitionEntry): readonly number[] {
  return entry.stored?.replicas ?? moveOf(entry)?.origin ?? entry.replicas;
}

/**
 * Of the target, those that have not been told of yet. Also one that was there before: a move may be changed into another
 * while the write is on its way that leaves it out.
 */
export function untold(entry: PartitionEntry, { target }: ReplicaMove): number[] {
  const taking = takingPart(entry);
  return target.filter((id) => !taking.includes(id));
}

/** Those that go take part no longer: they are told to delete, and the target is written last. */
export function isFinishing(entry: PartitionEntry, move: ReplicaMove): boolean {
  const { stored } = entry;
  if (!stored || !sameSet(takingPart(entry), move.target)) return false;
  // Where none goes it is as told from the beginning: then it is done once all are in sync.
  return move.removing.length > 0 || move.joining.every((id) => stored.isr.includes(id));
}

export function sameSet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}
