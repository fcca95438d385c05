/**
 * How far the recovery of the logs is, over all directories, for people: a line in the log every few seconds, and what
 * health says meanwhile. Bytes are those of the logs that have to be looked at, counted log by log. Made by the
 * composition root; told by the loaders of the directories.
 */
import type { Clock, Logger, Timer } from '@tributary/common';

const REPORT_INTERVAL_MS = 5_000;
const MIB = 2 ** 20;

export class RecoveryProgress {
  private bytesTotal = 0;
  private bytesDone = 0;
  private logsTotal = 0;
  private logsDone = 0;
  private timer: Timer | undefined;

  expect(bytes: number): void {
    this.bytesTotal += bytes;
    this.logsTotal += 1;
  }

  done(bytes: number): void {
    this.bytesDone += bytes;
    this.logsDone += 1;
  }

  /** '' when there is nothing to recover. */
  get text(): string {
    if (this.logsTotal === 0) return '';
    const mib = (bytes: number): number => Math.round(bytes / MIB);
    return `${this.logsDone} of ${this.logsTotal} logs, ${mib(this.bytesDone)} of ${mib(this.bytesTotal)} MiB`;
  }

  /** Until the returned function is called. */
  report(clock: Clock, logger: Logger): () => void {
    const arm = (): void => {
      this.timer = clock.setTimer(REPORT_INTERVAL_MS, () => {
        const { bytesDone, bytesTotal, logsDone, logsTotal } = this;
        logger.info('logs are being recovered', { logsDone, logsTotal, bytesDone, bytesTotal });
        arm();
      });
    };
    arm();
    return () => this.timer?.cancel();
  }
}
