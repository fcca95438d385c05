/**
 * What lies in the log directories of a broker, against what its placement record says: which copy of each replica
 * counts, at the start. Pure. The rules:
 *
 * - The record decides. A copy elsewhere than it says is a stray: from a directory that was offline while the replica was
 *   given up here.
 * - What it does not name is taken in where it was made just before the process died, before the record had it, or where
 *   somebody moved it by hand; from a directory that missed changes of the record it is a stray.
 * - A replica that is twice there, and the record cannot tell, is refused: both are kept, none is served.
 *
 * Called by LogDirectories.
 */
import { partitionKey, partitionName } from '@tributary/common';
import type { ReplicaId } from './log-store';
import type { Placement, PlacementRecord } from './placement-record';

export interface FoundDirectory {
  readonly id: string;
  readonly path: string;
  /** Of its own record; undefined: it has none that can be read. */
  readonly generation: number | undefined;
  readonly found: readonly ReplicaId[];
}

export interface PlacementPlan {
  /** What is where from now on; also what is lost. */
  readonly placements: Map<string, Placement>;
  /** To be set aside as strays, by directory id. */
  readonly strays: Map<string, ReplicaId[]>;
  /** Partition names that must not be loaded, and why, by directory id. */
  readonly refused: Map<string, Map<string, string>>;
}

/** @param record the newest one; undefined: there is none, so this is the first start with several directories. */
export function planPlacement(
  directories: readonly FoundDirectory[],
  record: PlacementRecord | undefined,
): PlacementPlan {
  const plan: PlacementPlan = {
    placements: new Map(record?.placements),
    strays: new Map(),
    refused: new Map(),
  };
  for (const [key, copies] of copiesByKey(directories)) {
    const placed = record?.placements.get(key);
    const atHome = copies.find(({ directory }) => directory.id === placed?.directoryId);
    const upToDate = copies.filter(
      ({ directory }) => !record || directory.generation === record.generation,
    );
    if (atHome) strayAllBut(plan, copies, atHome);
    else strayAllBut(plan, copies, ...upToDate);
    if (!atHome && upToDate.length > 1) {
      refuse(plan, upToDate);
      plan.placements.delete(key);
      continue;
    }
    const kept = atHome ?? upToDate[0];
    if (kept) plan.placements.set(key, { ...kept.replica, directoryId: kept.directory.id });
  }
  return plan;
}

interface Copy {
  readonly replica: ReplicaId;
  readonly directory: FoundDirectory;
}

function copiesByKey(directories: readonly FoundDirectory[]): Map<string, Copy[]> {
  const copies = new Map<string, Copy[]>();
  for (const directory of directories) {
    for (const replica of directory.found) {
      const key = partitionKey(replica.topicId, replica.partition);
      copies.set(key, [...(copies.get(key) ?? []), { replica, directory }]);
    }
  }
  return copies;
}

function strayAllBut(plan: PlacementPlan, copies: readonly Copy[], ...kept: Copy[]): void {
  for (const copy of copies) {
    if (kept.includes(copy)) continue;
    const { id } = copy.directory;
    plan.strays.set(id, [...(plan.strays.get(id) ?? []), copy.replica]);
  }
}

function refuse(plan: PlacementPlan, copies: readonly Copy[]): void {
  const paths = copies.map(({ directory }) => directory.path).join(' and in ');
  for (const { replica, directory } of copies) {
    const name = partitionName(replica.topic, replica.partition);
    const names = plan.refused.get(directory.id) ?? new Map<string, string>();
    names.set(name, `${name} lies in ${paths}: take one of them away`);
    plan.refused.set(directory.id, names);
  }
}
