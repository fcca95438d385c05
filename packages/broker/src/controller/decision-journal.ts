/**
 * What this broker decided as controller, lately: who, what, why, when. Bounded; the oldest goes first.
 * Written by the driver, shown by status and, later, by the CLI.
 */
import type { JournalEntry } from './controller-effect';

export interface DatedEntry extends JournalEntry {
  /** ms since the epoch. */
  readonly at: number;
  readonly controllerEpoch: number;
}

export const maxJournalEntries = 1_000;

export class DecisionJournal {
  private entries: DatedEntry[] = [];

  add(entry: DatedEntry): void {
    this.entries.push(entry);
    // In halves, so that the array is not shifted with each entry.
    if (this.entries.length >= maxJournalEntries * 2) {
      this.entries = this.entries.slice(-maxJournalEntries);
    }
  }

  /** Newest last. */
  list(): readonly DatedEntry[] {
    return this.entries.slice(-maxJournalEntries);
  }
}
