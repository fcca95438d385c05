/**
 * What log maintenance may do to one log. Each call checks that the log is still usable, for between two of them
 * anything may have happened to it. Made by Log; called by the duties of log maintenance.
 */
import {
  ensureSnapshot,
  flushWhatStays,
  hasObsoleteSegments,
  removeObsoleteSegment,
  retain,
} from './log-retention';
import type { LogState } from './log-state';
import type { RetentionDecision } from './retention';

export class LogUpkeep {
  constructor(private readonly log: LogState) {}

  /** Rolls what is old, raises the log start over what has had its time. undefined: the settings are not known yet. */
  retain(): RetentionDecision | undefined {
    this.log.health.check();
    return retain(this.log);
  }

  /** Files wait for their removal. */
  get hasObsoleteSegments(): boolean {
    return hasObsoleteSegments(this.log);
  }

  /** False: the disk is too full for that. */
  async flushWhatStays(): Promise<boolean> {
    this.log.health.check();
    return flushWhatStays(this.log);
  }

  /** The oldest one; false: there is none. */
  removeObsoleteSegment(): boolean {
    this.log.health.check();
    return removeObsoleteSegment(this.log);
  }

  ensureSnapshot(): void {
    this.log.health.check();
    ensureSnapshot(this.log);
  }

  /** Makes what was removed so far stay away after a power failure. */
  async syncDirectory(): Promise<void> {
    const { health, disk, directory } = this.log;
    health.check();
    await health.guardAsync('sync the directory', () => disk.syncDirectory(directory));
  }

  forgetExpiredProducers(): void {
    this.log.health.check();
    this.log.producers.forgetExpired();
  }
}
