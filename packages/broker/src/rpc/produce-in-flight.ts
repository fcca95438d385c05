/** Bytes of produce requests that are not answered yet, over all streams of the broker, under one limit. */
export class InFlightBytes {
  private taken = 0;

  /** Asked each time: it may be altered while the broker runs. */
  constructor(private readonly limit: () => number) {}

  get maxBytes(): number {
    return this.limit();
  }

  get bytes(): number {
    return this.taken;
  }

  /** A request larger than the limit itself has room when nothing else is there. */
  hasRoomFor(bytes: number): boolean {
    return this.taken === 0 || this.taken + bytes <= this.maxBytes;
  }

  take(bytes: number): void {
    this.taken += bytes;
  }

  release(bytes: number): void {
    this.taken -= bytes;
  }
}
