/**
 * A watch on something that takes several reads: each signal starts a reading; the value is told when it differs from
 * the last one told. Readings do not overlap; a signal during one starts another, so the last change is never missed.
 */
import { hasCode, type Clock, type Logger, type Timer } from '@tributary/common';
import type { Watch } from './coordinator';

const RETRY_MS = 200;

export interface DerivedWatchOptions<T> {
  readonly read: () => Promise<T>;
  readonly onChange: (value: T) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DerivedWatch<T> implements Watch {
  private stopped = false;
  private reading = false;
  private again = false;
  private told: string | undefined;
  private retry: Timer | undefined;
  private source: Watch | undefined;

  private constructor(private readonly options: DerivedWatchOptions<T>) {}

  /** @param arm starts the watch whose calls are the signals. */
  static start<T>(arm: (signal: () => void) => Watch, options: DerivedWatchOptions<T>): Watch {
    const derived = new DerivedWatch(options);
    derived.source = arm(() => derived.signal());
    return derived;
  }

  stop(): void {
    this.stopped = true;
    this.retry?.cancel();
    this.source?.stop();
  }

  private signal(): void {
    if (this.stopped) return;
    if (this.reading) this.again = true;
    else void this.readUntilQuiet();
  }

  private async readUntilQuiet(): Promise<void> {
    this.reading = true;
    this.retry?.cancel();
    try {
      do {
        this.again = false;
        const value = await this.options.read();
        if (this.isStopped()) return;
        this.tell(value);
      } while (this.isAgain());
    } catch (error) {
      if (this.isStopped() || hasCode(error, 'CLOSED')) return;
      this.options.logger.warn('a watched value could not be read, trying again', { error });
      this.retry = this.options.clock.setTimer(RETRY_MS, () => this.signal());
    } finally {
      this.reading = false;
    }
  }

  private tell(value: T): void {
    const key = JSON.stringify(value);
    if (key === this.told) return;
    this.told = key;
    this.options.onChange(value);
  }

  // Read through methods: both may change during an await.
  private isStopped(): boolean {
    return this.stopped;
  }

  private isAgain(): boolean {
    return this.again;
  }
}
