/**
 * What nodes looked like some transactions ago, for the simulator's stale reads: a ZooKeeper follower may answer from
 * the past, but never goes back behind what the session has seen. Kept only when such faults are on.
 */
import type { EmbeddedTree, TreeChange, TreeView } from './embedded-tree';

/** Transactions that are remembered. */
export const maxHistoryTransactions = 64;

interface Version {
  readonly zxid: number;
  readonly view: TreeView | undefined;
}

export class EmbeddedHistory {
  private readonly versions = new Map<string, Version[]>();

  /** Called after each transaction. A path not in the map has not changed within memory. */
  record(
    tree: EmbeddedTree,
    changes: readonly TreeChange[],
    before: Map<string, TreeView | undefined>,
  ): void {
    for (const path of new Set(changes.map((change) => change.path))) {
      const known = this.versions.get(path) ?? [{ zxid: 0, view: before.get(path) }];
      known.push({ zxid: tree.zxid, view: tree.view(path) });
      const oldest = tree.zxid - maxHistoryTransactions;
      while (known.length > 1 && (known[1]?.zxid ?? Infinity) <= oldest) known.shift();
      this.versions.set(path, known);
    }
  }

  /** As of transaction `zxid`, which must be within memory. */
  viewAt(tree: EmbeddedTree, path: string, zxid: number): TreeView | undefined {
    const known = this.versions.get(path);
    if (!known) return tree.view(path);
    return known.filter((version) => version.zxid <= zxid).at(-1)?.view;
  }

  changedAfter(path: string, zxid: number): boolean {
    return (this.versions.get(path)?.at(-1)?.zxid ?? 0) > zxid;
  }
}
