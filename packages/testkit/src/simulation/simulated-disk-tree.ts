/**
 * Directories of a simulated disk, twice: as processes see them, and as they would be after the power failed.
 * Every creation, rename and removal is journalled until a syncDirectory of a directory that it touches makes
 * it durable. A crash keeps a random prefix of the journal, as a journalling file system does: a rename
 * happens wholly or not at all.
 */
import { TributaryError, type Random } from '@tributary/common';
import { SimulatedContent } from './simulated-disk-content';

export class SimulatedDirectory {
  entries = new Map<string, SimulatedNode>();
  readonly durable = new Map<string, SimulatedNode>();
}

export type SimulatedNode = SimulatedDirectory | SimulatedContent;

interface Change {
  readonly directory: SimulatedDirectory;
  readonly name: string;
  /** undefined: removed. */
  readonly node: SimulatedNode | undefined;
}

export class SimulatedTree {
  private readonly root = new SimulatedDirectory();
  private journal: (readonly Change[])[] = [];

  find(path: string): SimulatedNode | undefined {
    let node: SimulatedNode | undefined = this.root;
    for (const name of namesOf(path)) {
      if (!(node instanceof SimulatedDirectory)) return undefined;
      node = node.entries.get(name);
    }
    return node;
  }

  /** What has this path whatever happens to the power. */
  findDurable(path: string): SimulatedNode | undefined {
    let node: SimulatedNode | undefined = this.root;
    for (const name of namesOf(path)) {
      if (!(node instanceof SimulatedDirectory)) return undefined;
      node = node.durable.get(name);
    }
    return node;
  }

  directory(path: string): SimulatedDirectory {
    const node = this.find(path);
    if (node instanceof SimulatedDirectory) return node;
    throw storageError(`${path} is not a directory`, path);
  }

  file(path: string): SimulatedContent {
    const node = this.find(path);
    if (node instanceof SimulatedContent) return node;
    throw storageError(`${path} is not a file`, path);
  }

  createFile(path: string): SimulatedContent {
    const content = new SimulatedContent();
    const { directory, name } = this.place(path);
    this.change([{ directory, name, node: content }]);
    return content;
  }

  makeDirectory(path: string): void {
    let directory = this.root;
    for (const name of namesOf(path)) {
      let next = directory.entries.get(name);
      if (next === undefined) {
        next = new SimulatedDirectory();
        this.change([{ directory, name, node: next }]);
      }
      if (!(next instanceof SimulatedDirectory)) {
        throw storageError(`${name} in ${path} is a file`, path);
      }
      directory = next;
    }
  }

  rename(from: string, to: string): void {
    const source = this.place(from);
    const target = this.place(to);
    const node = source.directory.entries.get(source.name);
    if (!node) throw storageError(`${from} does not exist`, from);
    const existing = target.directory.entries.get(target.name);
    if (existing instanceof SimulatedDirectory && existing.entries.size > 0) {
      throw storageError(`${to} is a directory that is not empty`, to);
    }
    this.change([
      { ...source, node: undefined },
      { ...target, node },
    ]);
  }

  remove(path: string): void {
    if (this.find(path) === undefined) return;
    this.change([{ ...this.place(path), node: undefined }]);
  }

  sync(directory: SimulatedDirectory): void {
    const touches = (changes: readonly Change[]): boolean =>
      changes.some((change) => change.directory === directory);
    this.journal.filter(touches).forEach(makeDurable);
    this.journal = this.journal.filter((changes) => !touches(changes));
  }

  /** The power fails. */
  loseUnsynced(random: Random): void {
    const kept = Math.floor(random.next() * (this.journal.length + 1));
    this.journal.slice(0, kept).forEach(makeDurable);
    this.journal = [];
    this.forEach(this.root, (node) => {
      if (node instanceof SimulatedDirectory) node.entries = new Map(node.durable);
      else node.loseUnsynced(random);
    });
  }

  usedBytes(): number {
    let bytes = 0;
    this.forEach(this.root, (node) => {
      if (node instanceof SimulatedContent) bytes += node.size;
    });
    return bytes;
  }

  private forEach(node: SimulatedNode, visit: (node: SimulatedNode) => void): void {
    visit(node);
    if (!(node instanceof SimulatedDirectory)) return;
    for (const child of node.entries.values()) this.forEach(child, visit);
  }

  private place(path: string): { directory: SimulatedDirectory; name: string } {
    const names = namesOf(path);
    const name = names.pop();
    if (name === undefined) throw storageError('the root cannot be changed', path);
    return { directory: this.directory(`/${names.join('/')}`), name };
  }

  private change(changes: readonly Change[]): void {
    for (const { directory, name, node } of changes) set(directory.entries, name, node);
    this.journal.push(changes);
  }
}

function makeDurable(changes: readonly Change[]): void {
  for (const { directory, name, node } of changes) set(directory.durable, name, node);
}

function set(
  entries: Map<string, SimulatedNode>,
  name: string,
  node: SimulatedNode | undefined,
): void {
  if (node) entries.set(name, node);
  else entries.delete(name);
}

function namesOf(path: string): string[] {
  if (!path.startsWith('/')) throw storageError(`${path} is not absolute`, path);
  return path.split('/').filter((name) => name !== '');
}

export function storageError(message: string, path: string): TributaryError {
  return new TributaryError('STORAGE_ERROR', message, { details: { path } });
}
