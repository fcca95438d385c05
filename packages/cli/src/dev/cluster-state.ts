/**
 * The state file of a running development cluster: how the other `trib dev` commands find its supervisor. Only its
 * owner may read it, since it holds the token that the supervisor wants. Written and removed by the supervisor.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const DEFAULT_DIRECTORY = '.tributary';

export interface ClusterState {
  readonly supervisorPid: number;
  readonly controlPort: number;
  readonly token: string;
}

/** What does not change over the lives of a data directory. */
export interface ClusterShape {
  readonly zookeeperNodes: number;
}

const STATE_FILE = 'supervisor.json';
const SHAPE_FILE = 'cluster.json';

export function readState(directory: string): ClusterState | undefined {
  return readJson(join(directory, STATE_FILE)) as ClusterState | undefined;
}

export function writeState(directory: string, state: ClusterState): void {
  mkdirSync(directory, { recursive: true });
  writeJson(join(directory, STATE_FILE), state);
}

export function removeState(directory: string): void {
  rmSync(join(directory, STATE_FILE), { force: true });
}

export function readShape(directory: string): ClusterShape | undefined {
  return readJson(join(directory, SHAPE_FILE)) as ClusterShape | undefined;
}

export function writeShape(directory: string, shape: ClusterShape): void {
  mkdirSync(directory, { recursive: true });
  writeJson(join(directory, SHAPE_FILE), shape);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // none there, or half of one: no cluster that could be talked to
  }
}

function writeJson(path: string, value: object): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}
