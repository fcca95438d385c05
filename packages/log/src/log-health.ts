/**
 * Whether a log may be used. Invariant: after an I/O error every later call is refused, because what reached the
 * disk is unknown (KAFKA-10778); a full disk is no such error, the append that met it was undone, nor is a batch that
 * cannot be decoded here. Called around everything that the log does.
 */
import { hasCode, partitionName, TributaryError } from '@tributary/common';
import type { LogOptions } from './log-options';

/** Of a batch that is as its producer wrote it (its CRC is checked before), and cannot be decoded here. */
export const UNDECODABLE = ['UNSUPPORTED_CODEC', 'INVALID_BATCH', 'BATCH_TOO_LARGE'] as const;

export class LogHealth {
  private reason: TributaryError | undefined;
  private closed = false;
  readonly name: string;

  /** @param onFailure is told once, before the caller that met it. */
  constructor(
    private readonly options: LogOptions,
    private readonly onFailure: (error: TributaryError) => void,
  ) {
    this.name = partitionName(options.topic, options.partition);
  }

  get failure(): TributaryError | undefined {
    return this.reason;
  }

  close(): void {
    this.closed = true;
  }

  /** The disk under it failed, which its log directory tells. */
  fail(error: TributaryError): void {
    if (this.reason) return;
    this.reason = error;
    this.onFailure(error);
  }

  /** Throws CLOSED, STORAGE_ERROR or CORRUPT_LOG. */
  check(): void {
    if (this.closed) throw new TributaryError('CLOSED', `the log of ${this.name} is closed`);
    if (this.reason) throw this.reason.withOutcome('not written');
  }

  guard<T>(operation: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.failed(operation, error);
    }
  }

  async guardAsync<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.failed(operation, error);
    }
  }

  /** Notes the failure, if it is one, and gives the error to throw. */
  private failed(operation: string, thrown: unknown): TributaryError {
    if (hasCode(thrown, 'DISK_FULL', 'CLOSED', ...UNDECODABLE)) return thrown;
    const { topic, partition, logger, onFailed } = this.options;
    const cause = TributaryError.from(thrown);
    const code = hasCode(cause, 'INTERNAL', 'CORRUPT_LOG') ? cause.code : 'STORAGE_ERROR';
    const error = new TributaryError(
      code,
      `${this.name} is offline on this broker: cannot ${operation}: ${cause.message}`,
      { cause, details: { ...cause.details, topic, partition } },
    );
    if (!this.reason) {
      this.reason = error;
      logger.error('a log failed and is offline', { topic, partition, operation, error });
      this.onFailure(error);
      // Damage is of these files; anything else may be of the whole disk.
      if (code !== 'CORRUPT_LOG') onFailed?.();
    }
    return error;
  }
}
