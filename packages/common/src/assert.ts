/**
 * For what cannot happen: a failed assertion is a defect and stops the partition or the process. Expected
 * failures are TributaryErrors instead.
 */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}

/** In the default branch of a switch over a closed union. */
export function assertNever(value: never): never {
  throw new AssertionFailure(`unexpected value ${JSON.stringify(value)}`);
}

/** Offsets, positions and epochs are safe integers inside; asserted where bytes are decoded. */
export function assertSafeInteger(value: number, what: string): void {
  if (!Number.isSafeInteger(value))
    throw new AssertionFailure(`${what} is not a safe integer: ${value}`);
}
