/** Bytes of produce requests that are not answered yet, over all streams of the broker, under one limit. */
export class InFlightBytes {
  private taken = 0;

  constructor(readonly maxBytes: number) {}

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
