/** One group commit: who shares it waits for the same promise. Called by the flusher of a log. */
export class FlushTurn {
  readonly done: Promise<void>;
  /** Everything below it. */
  target = 0;
  /** Of the log when it began. */
  truncations = -1;
  /** Nobody waits for it, who could try again. */
  mustSucceed = false;
  private settle!: { readonly resolve: () => void; readonly reject: (error: unknown) => void };

  constructor() {
    this.done = new Promise<void>((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    this.done.catch(() => undefined); // maybe nobody waits; the log is offline then all the same
  }

  succeed(): void {
    this.settle.resolve();
  }

  fail(error: unknown): void {
    this.settle.reject(error);
  }
}
