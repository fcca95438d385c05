/** The one-shot watches of the embedded ensemble, by path, each with the session that armed it. Called by EmbeddedEnsemble. */
import type { ChangeSignal } from '../session/session';

export class SignalTable<Owner> {
  private readonly signals = new Map<string, Map<ChangeSignal, Owner | undefined>>();

  add(path: string, signal: ChangeSignal, session: Owner | undefined): void {
    const known = this.signals.get(path) ?? new Map<ChangeSignal, Owner | undefined>();
    this.signals.set(path, known.set(signal, session));
  }

  remove(path: string, signal: ChangeSignal): void {
    const known = this.signals.get(path);
    known?.delete(signal);
    if (known?.size === 0) this.signals.delete(path);
  }

  take(path: string): [ChangeSignal, Owner | undefined][] {
    const known = this.signals.get(path) ?? [];
    this.signals.delete(path);
    return [...known];
  }

  get size(): number {
    let size = 0;
    for (const known of this.signals.values()) size += known.size;
    return size;
  }
}
