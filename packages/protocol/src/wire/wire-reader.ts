/**
 * Reads protobuf's wire format from one buffer. Invariant: it never reads past `end`; whatever does not fit
 * throws a RangeError, which the codec turns into INVALID_ARGUMENT. Byte fields come out as views.
 * Called by the message tables.
 */

/** Most bytes of a varint: 64 bits in groups of 7. */
const varintBytesMax = 10;

export const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

export class WireReader {
  private low = 0;
  private high = 0;
  private position = 0;
  private end: number;
  private elements = 0;

  /** @param maxElements that may be counted */
  constructor(
    private readonly buffer: Buffer,
    private readonly maxElements = Infinity,
  ) {
    this.end = buffer.length;
  }

  get done(): boolean {
    return this.position >= this.end;
  }

  /** Throws when there are more in this message, those inside it included, than it may have. */
  countElements(more: number): void {
    this.elements += more;
    if (this.elements > this.maxElements) {
      throw new RangeError(`more than ${this.maxElements} elements in one message`);
    }
  }

  uint32(): number {
    this.varint();
    return this.low >>> 0;
  }

  int32(): number {
    this.varint();
    return this.low | 0;
  }

  bool(): boolean {
    this.varint();
    return (this.low | this.high) !== 0;
  }

  int64(): number {
    this.varint();
    return safe((this.high | 0) * 4_294_967_296 + (this.low >>> 0));
  }

  uint64(): number {
    this.varint();
    return safe((this.high >>> 0) * 4_294_967_296 + (this.low >>> 0));
  }

  string(): string {
    const start = this.delimited();
    return this.buffer.toString('utf8', start, this.position);
  }

  /** A view: it keeps the whole received message alive, and nothing is copied. */
  bytes(): Buffer {
    const start = this.delimited();
    return this.buffer.subarray(start, this.position);
  }

  /** Reads a nested message: `read` sees only its bytes. */
  nested<T>(read: (reader: WireReader) => T): T {
    const start = this.delimited();
    const { position, end } = this;
    this.position = start;
    this.end = position;
    const message = read(this);
    this.position = position;
    this.end = end;
    return message;
  }

  /** Passes over a field that this version does not know. */
  skip(type: number): void {
    if (type === wireType.varint) this.varint();
    else if (type === wireType.delimited) this.delimited();
    else if (type === wireType.fixed64) this.advance(8);
    else if (type === wireType.fixed32) this.advance(4);
    else throw new RangeError(`wire type ${type} at byte ${this.position}`);
  }

  /** Moves behind a length-delimited value and returns where it starts. */
  private delimited(): number {
    this.varint();
    if (this.high !== 0) throw new RangeError(`a length over 4 GiB at byte ${this.position}`);
    const start = this.position;
    this.advance(this.low >>> 0);
    return start;
  }

  private advance(bytes: number): void {
    if (bytes > this.end - this.position) {
      throw new RangeError(
        `${bytes} bytes wanted at byte ${this.position}, the end is ${this.end}`,
      );
    }
    this.position += bytes;
  }

  private varint(): void {
    let low = 0;
    let high = 0;
    for (let group = 0; group < varintBytesMax; group += 1) {
      if (this.position >= this.end) throw new RangeError(`cut off at byte ${this.position}`);
      const byte = this.buffer[this.position] as number;
      this.position += 1;
      const bits = byte & 0x7f;
      if (group < 4) {
        low |= bits << (7 * group);
      } else if (group === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else {
        high |= bits << (7 * group - 32);
      }
      if (byte < 0x80) {
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw new RangeError(`a varint of more than ${varintBytesMax} bytes at byte ${this.position}`);
  }
}

function safe(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is beyond the safe integers`);
  return value;
}
