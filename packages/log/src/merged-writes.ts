/**
 * Concurrent writes of one small text, merged: while one is on its way to the device, only the newest waits behind it.
 * Invariant: a write resolves when its text, or a newer one, is durable. Called by the text files that are replaced as
 * a whole.
 */
export class MergedWrites {
  private text = '';
  /** Counts the texts given to us. */
  private newest = 0;
  private durable = 0;
  private running: Promise<void> | undefined;

  /** @param persist answers whether that version is on the device: not where a newer one took its place meanwhile. */
  constructor(private readonly persist: (text: string, version: number) => Promise<boolean>) {}

  /** Durable when it resolves, unless a newer text took its place meanwhile: then that one is. */
  async write(text: string): Promise<void> {
    if (text === this.text && this.newest > 0 && this.durable === this.newest) return;
    this.overtake(text);
    const mine = this.newest;
    while (this.durable < mine) {
      this.running ??= this.run().finally(() => (this.running = undefined));
      await this.running;
    }
  }

  /** This text is the newest; its caller puts it in place. */
  overtake(text: string): void {
    this.text = text;
    this.newest += 1;
  }

  isNewest(version: number): boolean {
    return version === this.newest;
  }

  private async run(): Promise<void> {
    const version = this.newest;
    if (await this.persist(this.text, version)) this.durable = version;
  }
}
