/** One kind of fault: an entry of the nemesis' table. */
import type { FaultWorld } from './fault-world';

export interface FaultKind {
  readonly name: string;
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** Does it, and answers what was done; undefined: it is not possible now. */
  start(world: FaultWorld): FaultInForce | undefined;
}

export interface FaultInForce {
  readonly text: string;
  /** undefined: over at once. */
  readonly lastsMs?: number;
  /** Called once: after `lastsMs`, or earlier, when everything is healed. */
  end?(): void;
}
