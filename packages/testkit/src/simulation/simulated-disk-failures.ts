/** What a simulated disk may be told to fail at, and how. Called by the disk, and by tests that arm a failure. */
import type { ErrorCode } from '@tributary/common';

export type DiskOperation =
  | 'open'
  | 'append'
  | 'writeAt'
  | 'read'
  | 'truncate'
  | 'datasync'
  | 'syncDirectory'
  | 'rename'
  | 'remove'
  | 'makeDirectory'
  | 'lock';

export interface InjectedFailure {
  /** Default STORAGE_ERROR. */
  readonly code?: ErrorCode;
  /** How many times. Default 1. */
  readonly times?: number;
  /** Only for paths that contain this. */
  readonly path?: string;
  /** Of a failing append, this many bytes are written. Default 0. */
  readonly partialBytes?: number;
}

/** What can leave the disk half done: the places at which the power is worth cutting. */
export const WRITES: ReadonlySet<DiskOperation> = new Set([
  'append',
  'writeAt',
  'truncate',
  'datasync',
  'syncDirectory',
  'rename',
  'remove',
  'makeDirectory',
]);

export type Armed = InjectedFailure & { readonly operation: DiskOperation; left: number };
