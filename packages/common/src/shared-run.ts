/**
 * Runs of one piece of work, one at a time, shared by all who ask for it: the sync of a directory, the write of a checkpoint.
 * Invariant: whoever asks is answered by a run that began after the call, and one that failed fails all who share it.
 * Called by the log's directories and by the checkpoint of the high watermarks.
 */
export class SharedRun {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

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
    const running = this.work().finally(() => {
      if (this.running === running) this.running = undefined;
    });
    this.running = running;
    return running;
  }
}
