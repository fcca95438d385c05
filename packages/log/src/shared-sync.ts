/**
 * Syncs of one directory, shared by all who changed something in it. Invariant: whoever asks is answered by a sync that began
 * after the call, and one that failed fails all who share it. Called by DirectoryAsides.
 */
export class SharedSync {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly sync: () => Promise<void>) {}

  /** At once where none is under way; else with all others that wait for its end. */
  run(): Promise<void> {
    if (!this.running) return this.begin();
    this.next ??= this.running
      .catch(() => undefined) // those who share it hear of it
      .then(() => {
        this.next = undefined;
        return this.begin();
      });
    return this.next;
  }

  private begin(): Promise<void> {
    const running = this.sync().finally(() => {
      if (this.running === running) this.running = undefined;
    });
    this.running = running;
    return running;
  }
}
