/**
 * What tells one record of the load from all others, `writer:number`: it stands in front of the padding of its value, and in
 * a header of a tombstone, which has no value. Called by writers, readers and checkers.
 */
import type { DecodedRecord } from '@tributary/record';

/** Of a tombstone. */
export const TEXT_HEADER = 'text';

export function recordText(
  value: Uint8Array | null,
  header: Uint8Array | null | undefined,
): string {
  if (value === null) return latin(header);
  const text = latin(value);
  return text.slice(0, text.indexOf('.'));
}

export function decodedText({ value, headers }: DecodedRecord): string {
  return recordText(value, headers.find(({ key }) => key === TEXT_HEADER)?.value);
}

export function keyText({ key }: DecodedRecord): string {
  return latin(key);
}

function latin(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString('latin1');
}
