/**
 * From which offset on is the log surely in the page cache? What this process appended last, up to
 * `maxBytes`, is read synchronously; older data goes through the thread pool, so that a reader of old data
 * does not stop the event loop. Kept per partition in steps of `stepBytes`. Called by `Partition`.
 */
export const HOT_TAIL_BYTES = 32 * 1024 * 1024;
const STEP_BYTES = 1024 * 1024;

export class HotTail {
  private appended = 0;
  /** Ends of steps: from `offset` on lie `appended - bytes` bytes. */
  private steps: { readonly offset: number; readonly bytes: number }[] = [];

  constructor(
    startOffset: number,
    private readonly maxBytes = HOT_TAIL_BYTES,
  ) {
    this.steps.push({ offset: startOffset, bytes: 0 });
  }

  /** @param baseOffset first offset of the bytes just appended. */
  note(baseOffset: number, bytes: number): void {
    const last = this.steps[this.steps.length - 1];
    if (!last || this.appended - last.bytes >= STEP_BYTES) {
      this.steps.push({ offset: baseOffset, bytes: this.appended });
    }
    this.appended += bytes;
    while (this.steps.length > 1 && this.appended - (this.steps[0]?.bytes ?? 0) > this.maxBytes) {
      this.steps.shift();
    }
  }

  restart(offset: number): void {
    this.steps = [{ offset, bytes: this.appended }];
  }

  isHot(offset: number): boolean {
    return offset >= (this.steps[0]?.offset ?? Infinity);
  }
}
