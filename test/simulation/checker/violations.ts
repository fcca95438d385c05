/**
 * What the checkers of a run have found. The first one counts: what follows is mostly its consequence. Filled by every
 * checker, read by the run, which stops at the first.
 */
export interface Violation {
  /** As `C1`, `R3`, `Z4` or `L1`: see docs/simulation.md. */
  readonly invariant: string;
  readonly text: string;
  readonly step: number;
  readonly atMs: number;
}

/** Kept of one run. */
const MAX_VIOLATIONS = 20;

export class Violations {
  readonly all: Violation[] = [];

  /** @param when step and simulated time now. */
  constructor(private readonly when: () => { readonly step: number; readonly atMs: number }) {}

  get first(): Violation | undefined {
    return this.all[0];
  }

  report(invariant: string, text: string): void {
    if (this.all.length < MAX_VIOLATIONS) this.all.push({ invariant, text, ...this.when() });
  }
}
