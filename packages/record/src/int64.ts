/**
 * 64-bit integers of the batch format as numbers. Invariant: what leaves `readInt64` unchecked is exact if
 * and only if it is a safe integer; whoever keeps the value must check that.
 */
const TWO_32 = 2 ** 32;

export function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * TWO_32 + bytes.readUInt32BE(at + 4);
}

export function writeInt64(bytes: Buffer, at: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  bytes.writeInt32BE(high, at);
  bytes.writeUInt32BE(value - high * TWO_32, at + 4);
}
