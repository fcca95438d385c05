/** What an error of node:fs means to the log. Called by everything that stands on node:fs. */
import { TributaryError, type ErrorCode } from '@tributary/common';

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EACCES: 'DATA_DIR_NOT_WRITABLE',
  EPERM: 'DATA_DIR_NOT_WRITABLE',
  EROFS: 'DATA_DIR_NOT_WRITABLE',
};

const meanings: Partial<Record<ErrorCode, string>> = {
  DISK_FULL: 'the disk is full',
  DATA_DIR_NOT_WRITABLE: 'no write access',
};

export function diskError(thrown: unknown, operation: string, path: string): TributaryError {
  if (thrown instanceof TributaryError) return thrown;
  const error = thrown as NodeJS.ErrnoException;
  const code = codes[error.code ?? ''] ?? 'STORAGE_ERROR';
  const meaning = meanings[code] ?? 'input/output failed';
  return new TributaryError(code, `${operation} ${path}: ${meaning} (${error.message})`, {
    cause: thrown,
    details: { path, ...(error.code ? { errno: error.code } : {}) },
  });
}

/** Runs `work`, with its errors mapped. */
export function onDisk<T>(operation: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw diskError(error, operation, path);
  }
}
