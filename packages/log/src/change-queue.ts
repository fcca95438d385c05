/**
 * The order of changes in a log directory: creations and deletions of different replicas go side by side, so that many syncs
 * share one commit of the file system; everything else goes alone. Invariant: of one name nothing happens at the same time.
 * Called by LogDirectory.
 */

/** Replicas that are created or deleted at the same time: each has one file open that waits for the device. */
export const LANES = 64;

export class ChangeQueue {
  /** The last change that goes alone. Never rejects, nor do the others. */
  private alone: Promise<unknown> = Promise.resolve();
  private readonly lanes: Promise<unknown>[] = Array.from({ length: LANES }, () =>
    Promise.resolve(),
  );
  private readonly byName = new Map<string, Promise<unknown>>();
  private next = 0;

  /** After all that goes alone and was asked for earlier, and after what concerns the same name. */
  beside<T>(name: string, work: () => Promise<T>): Promise<T> {
    const lane = this.next % LANES;
    this.next += 1;
    const turn = Promise.all([this.alone, this.byName.get(name), this.lanes[lane]]).then(work);
    const done = turn
      .catch(() => undefined) // its caller hears of it
      .then(() => {
        if (this.byName.get(name) === done) this.byName.delete(name);
      });
    this.lanes[lane] = done;
    this.byName.set(name, done);
    return turn;
  }

  /** After everything that was asked for earlier. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = Promise.all([this.alone, ...this.lanes]).then(work);
    this.alone = turn.catch(() => undefined); // its caller hears of it
    return turn;
  }
}
