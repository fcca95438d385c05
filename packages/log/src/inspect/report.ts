/**
 * What an inspection has found: told at once, one after another, so that it needs no memory. A damage is a byte that is
 * not as it was written, or files that contradict each other; a note is worth knowing and harms nobody.
 */
export interface Damage {
  readonly path: string;
  /** Of the byte in the file, as exactly as can be told. undefined: the file as a whole. */
  readonly position?: number;
  readonly problem: string;
  /** What it means for the log, and what happens to it. */
  readonly meaning: string;
}

export interface InspectionCounts {
  readonly partitions: number;
  readonly segments: number;
  readonly batches: number;
  readonly records: number;
  readonly bytes: number;
}

export class InspectionReport {
  damages = 0;
  partitions = 0;
  segments = 0;
  batches = 0;
  records = 0;
  bytes = 0;

  constructor(
    private readonly onDamage: (damage: Damage) => void,
    private readonly onNote: (note: string) => void,
  ) {}

  damage(damage: Damage): void {
    this.damages += 1;
    this.onDamage(damage);
  }

  note(note: string): void {
    this.onNote(note);
  }

  get counts(): InspectionCounts {
    const { partitions, segments, batches, records, bytes } = this;
    return { partitions, segments, batches, records, bytes };
  }
}

/** What becomes of damage in each kind of file. */
export const MEANING = {
  batch: 'its records are lost on this replica: it is not served and is refilled from its peers',
  log: 'what lies there is lost on this replica: it is not served and is refilled from its peers',
  torn: 'a write that a crash cut off: recovery cuts it away at the next start',
  derived: 'no record is lost: it is written anew from the log',
  seal: 'the log cannot be vouched for until it was read and sealed anew; no record is lost',
  epochs:
    'a follower could truncate at a wrong offset: the replica must not lead until it was refilled',
  epochSum:
    'no record is lost: the next start reads the epochs from the batches, but for one without any',
  gaps: 'no record is lost: gaps are expected everywhere, a changed base offset may go unnoticed',
  snapshot: 'no record is lost: producer states are read from the log instead',
  checkpoint:
    'no record is lost: the next start takes longer, or begins where the first segment does',
  identity: 'whose log this is cannot be told: it is not loaded until the file is right again',
} as const;
