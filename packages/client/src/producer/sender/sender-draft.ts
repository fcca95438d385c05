/**
 * A state of the sender while one step works on it: the small moves that rules are made of. Never outlives
 * the step; the machine's in- and output stay immutable.
 */
import type { TributaryError } from '@tributary/common';
import type {
  BatchState,
  IdentityState,
  SenderEffect,
  SenderState,
  SenderStep,
} from './sender-state';

export class SenderDraft {
  readonly effects: SenderEffect[] = [];

  constructor(public state: SenderState) {}

  result(): SenderStep {
    return { state: this.state, effects: this.effects };
  }

  batch(id: number): BatchState | undefined {
    return this.state.batches.find((batch) => batch.id === id);
  }

  get inFlight(): number {
    let count = 0;
    for (const batch of this.state.batches) if (batch.place === 'in flight') count += 1;
    return count;
  }

  patch(change: Partial<SenderState>): void {
    this.state = { ...this.state, ...change };
  }

  patchBatch(id: number, change: Partial<BatchState>): void {
    this.patch({
      batches: this.state.batches.map((batch) =>
        batch.id === id ? { ...batch, ...change } : batch,
      ),
    });
  }

  remove(id: number): void {
    this.patch({ batches: this.state.batches.filter((batch) => batch.id !== id) });
  }

  /** Tells the caller, once. */
  fail(batch: BatchState, error: TributaryError): void {
    if (batch.abandoned) return;
    const unclear = batch.maybeWritten || batch.place === 'in flight';
    const outcome = unclear && error.outcome !== 'written' ? 'maybe written' : error.outcome;
    const told = error.withOutcome(outcome ?? 'not written');
    this.effects.push({ type: 'failed', batchId: batch.id, error: told });
  }

  /**
   * Something went wrong that may go better later: what is in flight comes home first. Within one recovery
   * further failures count as one.
   */
  recover(error: TributaryError): void {
    if (this.state.recovery !== 'none') return this.patch({ lastError: error });
    const attempt = this.state.attempt + 1;
    this.patch({ recovery: 'homing', hinted: false, attempt, lastError: error });
  }

  /** The sequence has, or may have, a hole behind what was acknowledged: the identity is used up. */
  spend(fresh: boolean): void {
    const { identity } = this.state;
    let spent: IdentityState | undefined;
    if (identity.kind === 'held') {
      const { producerId, producerEpoch } = identity;
      spent = { kind: 'spent', producerId, producerEpoch, fresh };
    } else if (identity.kind === 'spent' && fresh) {
      spent = { ...identity, fresh };
    }
    if (spent) this.patch({ identity: spent });
  }
}
