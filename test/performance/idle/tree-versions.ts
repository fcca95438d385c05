/** When each node in ZooKeeper was written last, to tell what was written between two looks. Called by the idle bench. */
import { silentLogger, systemClock, systemRandom } from '@tributary/common';
import { ZooKeeperCoordinator } from '@tributary/coordination';

const READY_WITHIN_MS = 10_000;

/** By path: transaction of the last write of its data, and the version of its children. */
export type TreeVersions = ReadonlyMap<string, string>;

export async function treeVersions(connectString: string): Promise<TreeVersions> {
  const coordinator = ZooKeeperCoordinator.connect({
    connectString,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  const versions = new Map<string, string>();
  try {
    await coordinator.ready(READY_WITHIN_MS);
    const visit = async (path: string): Promise<void> => {
      const node = await coordinator.get(path);
      if (!node) return;
      versions.set(path, `${node.stat.mzxid}/${node.stat.childrenVersion}`);
      const names = (await coordinator.children(path)) ?? [];
      for (const name of names) await visit(path === '/' ? `/${name}` : `${path}/${name}`);
    };
    await visit('/');
  } finally {
    await coordinator.close();
  }
  return versions;
}

/** Created, changed or removed. */
export function writtenBetween(before: TreeVersions, after: TreeVersions): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}
