/**
 * Whether a whole log directory may be used. One failed call condemns the log that met it and no other: then the
 * directory itself is asked (a small durable write, and is it still there at all), and only when that fails too, all
 * of it is offline at once, instead of one log after another as they are touched. Invariant: offline is for the rest of
 * this process; a full disk is no failure. Called by LogDirectory.
 */
import { hasCode, TributaryError, type Logger } from '@tributary/common';

export interface DirectoryHealthOptions {
  readonly directory: string;
  readonly logger: Logger;
  /** Rejects when the directory cannot be used. */
  readonly probe: () => Promise<void>;
  /** Told once. */
  readonly onFailure: (error: TributaryError) => void;
}

export class DirectoryHealth {
  private reason: TributaryError | undefined;
  private probing: Promise<void> | undefined;

  constructor(private readonly options: DirectoryHealthOptions) {}

  get failure(): TributaryError | undefined {
    return this.reason;
  }

  /** Throws STORAGE_ERROR. */
  check(): void {
    if (this.reason) throw this.reason.withOutcome('not written');
  }

  /** Something in it failed. Resolves once it is known whether all of it did; never rejects. */
  suspect(): Promise<void> {
    if (this.reason) return Promise.resolve();
    this.probing ??= this.ask().finally(() => (this.probing = undefined));
    return this.probing;
  }

  /** Passes on what `work` throws, after it is known whether all of the directory failed. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    this.check();
    try {
      return await work();
    } catch (error) {
      if (!isHarmless(error)) await this.suspect();
      throw error;
    }
  }

  private async ask(): Promise<void> {
    try {
      await this.options.probe();
    } catch (error) {
      if (!isHarmless(error)) this.fail(error);
    }
  }

  private fail(thrown: unknown): void {
    const { directory, logger, onFailure } = this.options;
    const cause = TributaryError.from(thrown);
    this.reason = new TributaryError(
      'STORAGE_ERROR',
      `log directory ${directory} is offline on this broker: ${cause.message}`,
      { cause, details: { ...cause.details, directory } },
    );
    logger.error('a log directory failed and is offline', {
      directory,
      reason: cause.message,
      hint: 'Check the disk of this broker, then restart it.',
    });
    onFailure(this.reason);
  }
}

/** A full disk, what is closed, and refusals say nothing about the disk. */
function isHarmless(error: unknown): boolean {
  if (!(error instanceof TributaryError)) return false;
  return !hasCode(error, 'STORAGE_ERROR', 'DATA_DIR_NOT_WRITABLE', 'INTERNAL');
}
