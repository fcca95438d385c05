/**
 * Rules for paths and sizes, checked before anything is sent: the server cuts the connection of a client that sends
 * too much, which would look like an outage.
 */
import { maxMultiBytes, maxMultiOperations, type MultiOperation } from '../coordinator';
import { illegal } from '../coordinator-errors';

/** The server's limit for a whole request is 1,048,575 bytes, path and framing included. */
export const maxNodeBytes = 1_000_000;
const OPERATION_OVERHEAD_BYTES = 64;

export function validatePath(path: string): void {
  if (path === '/') return;
  const segments = path.split('/');
  const wrong =
    segments.shift() !== '' ||
    segments.length === 0 ||
    segments.some((name) => name === '' || name === '.' || name === '..' || name.includes('\0'));
  if (wrong) throw illegal(`${JSON.stringify(path)} is not a path of the coordinator`);
}

export function validateData(path: string, data: Buffer): void {
  if (data.length <= maxNodeBytes) return;
  throw illegal(`${data.length} bytes for ${path} are more than ${maxNodeBytes}`);
}

export function validateMulti(operations: readonly MultiOperation[]): void {
  if (operations.length > maxMultiOperations) {
    throw illegal(`${operations.length} operations in one multi, more than ${maxMultiOperations}`);
  }
  let bytes = 0;
  for (const operation of operations) {
    validatePath(operation.path);
    bytes += multiOperationBytes(operation);
  }
  if (bytes > maxMultiBytes) {
    throw illegal(`${bytes} bytes in one multi, more than ${maxMultiBytes}`);
  }
}

/** For those who fill multis up to the limit. */
export function multiOperationBytes(operation: MultiOperation): number {
  const data = 'data' in operation ? operation.data.length : 0;
  return OPERATION_OVERHEAD_BYTES + Buffer.byteLength(operation.path) + data;
}

/** `/a` for `/a/b`; `/` for `/a`. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}

export function joinPath(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** `/a`, `/a/b`, `/a/b/c` for `/a/b/c`. */
export function pathPrefixes(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}
