/**
 * The tree of the embedded ensemble: nodes with ZooKeeper's versions, counters and transaction ids, changed by atomic
 * lists of operations. Pure: no clock, no sessions, no promises.
 *
 * Invariant: `apply` either does all and answers what changed, or throws and changes nothing.
 */
import type { CoordinatorNode, NodeStat } from '../coordinator';
import { nodeError } from '../coordinator-errors';
import { parentPath } from '../session/node-path';

export type TreeOperation =
  | { readonly type: 'check'; readonly path: string; readonly version: number }
  | {
      readonly type: 'create';
      readonly path: string;
      readonly data: Buffer;
      readonly ephemeralOwner: string | undefined;
      readonly sequential: boolean;
    }
  | {
      readonly type: 'set';
      readonly path: string;
      readonly data: Buffer;
      readonly version: number | undefined;
    }
  | { readonly type: 'remove'; readonly path: string; readonly version: number | undefined };

export interface TreeResult {
  /** Of a create, with its counter. */
  readonly path: string;
  readonly stat: NodeStat | undefined;
}

export interface TreeChange {
  readonly path: string;
  /** data: created, set or removed; children: of this node. */
  readonly kind: 'data' | 'children';
  readonly removed: boolean;
}

interface TreeNode {
  data: Buffer;
  version: number;
  /** Of children: counts creations and removals; the counter of sequential names counts creations only. */
  childrenVersion: number;
  childrenCreated: number;
  readonly czxid: number;
  mzxid: number;
  readonly ephemeralOwner: string | undefined;
  readonly children: Set<string>;
}

export interface TreeView {
  readonly node: CoordinatorNode;
  readonly names: readonly string[];
}

export class EmbeddedTree {
  private readonly nodes = new Map<string, TreeNode>();
  private lastZxid = 0;

  constructor() {
    this.nodes.set('/', newNode(Buffer.alloc(0), 0, undefined));
  }

  get zxid(): number {
    return this.lastZxid;
  }

  view(path: string): TreeView | undefined {
    const node = this.nodes.get(path);
    if (!node) return undefined;
    return { node: { data: node.data, stat: statOf(node) }, names: [...node.children] };
  }

  ephemeralsOf(sessionId: string): string[] {
    return [...this.nodes].filter(([, n]) => n.ephemeralOwner === sessionId).map(([path]) => path);
  }

  apply(operations: readonly TreeOperation[]): { results: TreeResult[]; changes: TreeChange[] } {
    const zxid = this.lastZxid + 1;
    const undo: (() => void)[] = [];
    const changes: TreeChange[] = [];
    try {
      const results = operations.map((operation, index) =>
        this.step(operation, index, { zxid, undo, changes }),
      );
      this.lastZxid = zxid;
      return { results, changes };
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
  }

  private step(operation: TreeOperation, index: number, run: Run): TreeResult {
    if (operation.type === 'create') return this.create(operation, index, run);
    const node = this.nodes.get(operation.path);
    if (!node) throw nodeError('NO_NODE', operation.path, index);
    if (operation.version !== undefined && operation.version !== node.version) {
      throw nodeError('BAD_VERSION', operation.path, index);
    }
    if (operation.type === 'set') return this.set(operation.path, operation.data, node, run);
    if (operation.type === 'remove') this.remove(operation.path, node, index, run);
    return { path: operation.path, stat: undefined };
  }

  private create(
    operation: TreeOperation & { type: 'create' },
    index: number,
    run: Run,
  ): TreeResult {
    const directory = parentPath(operation.path);
    const parent = this.nodes.get(directory);
    if (!parent) throw nodeError('NO_NODE', directory, index);
    const counter = operation.sequential ? String(parent.childrenCreated).padStart(10, '0') : '';
    const path = operation.path + counter;
    if (this.nodes.has(path)) throw nodeError('NODE_EXISTS', path, index);
    const node = newNode(operation.data, run.zxid, operation.ephemeralOwner);
    const name = path.slice(path.lastIndexOf('/') + 1);
    this.nodes.set(path, node);
    parent.children.add(name);
    parent.childrenVersion += 1;
    parent.childrenCreated += 1;
    run.undo.push(() => {
      this.nodes.delete(path);
      parent.children.delete(name);
      parent.childrenVersion -= 1;
      parent.childrenCreated -= 1;
    });
    run.changes.push({ path, kind: 'data', removed: false });
    run.changes.push({ path: directory, kind: 'children', removed: false });
    return { path, stat: statOf(node) };
  }

  private set(path: string, data: Buffer, node: TreeNode, run: Run): TreeResult {
    const before = { data: node.data, version: node.version, mzxid: node.mzxid };
    run.undo.push(() => Object.assign(node, before));
    node.data = Buffer.from(data);
    node.version += 1;
    node.mzxid = run.zxid;
    run.changes.push({ path, kind: 'data', removed: false });
    return { path, stat: statOf(node) };
  }

  private remove(path: string, node: TreeNode, index: number, run: Run): void {
    if (node.children.size > 0) throw nodeError('NOT_EMPTY', path, index);
    const directory = parentPath(path);
    const parent = this.nodes.get(directory);
    if (!parent || path === '/') throw nodeError('NO_NODE', path, index);
    const name = path.slice(path.lastIndexOf('/') + 1);
    this.nodes.delete(path);
    parent.children.delete(name);
    parent.childrenVersion += 1;
    run.undo.push(() => {
      this.nodes.set(path, node);
      parent.children.add(name);
      parent.childrenVersion -= 1;
    });
    run.changes.push({ path, kind: 'data', removed: true });
    run.changes.push({ path, kind: 'children', removed: true });
    run.changes.push({ path: directory, kind: 'children', removed: false });
  }
}

interface Run {
  readonly zxid: number;
  readonly undo: (() => void)[];
  readonly changes: TreeChange[];
}

function newNode(data: Buffer, zxid: number, ephemeralOwner: string | undefined): TreeNode {
  return {
    data: Buffer.from(data),
    version: 0,
    childrenVersion: 0,
    childrenCreated: 0,
    czxid: zxid,
    mzxid: zxid,
    ephemeralOwner,
    children: new Set(),
  };
}

function statOf(node: TreeNode): NodeStat {
  const { version, childrenVersion, czxid, mzxid, ephemeralOwner } = node;
  return { version, childrenVersion, czxid, mzxid, ephemeralOwner };
}
