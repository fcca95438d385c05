/**
 * Lets at most `maxCalls` calls run at once; the others wait in order. Waiters are bounded by what the caller
 * can have pending (one claim or release per partition). Called by the member driver.
 */
export class CallLimiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly maxCalls: number) {}

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.running >= this.maxCalls) {
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else {
      this.running += 1;
    }
    try {
      return await call();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
