/**
 * What lies in a log directory beside the logs in use: strays, damaged replicas that are being refilled, what is on its
 * way out. Invariant: nothing that was set aside is overwritten; only what is to be deleted goes. Called by LogDirectory.
 */
import { asideName, parseAsideName, type AsideKind, type AsideName } from './directory-names';
import type { Disk } from './disk';
import type { ReplicaId } from './log-store';

export class DirectoryAsides {
  constructor(
    private readonly disk: Disk,
    private readonly directory: string,
  ) {}

  list(kind: AsideKind): ReplicaId[] {
    return this.all(kind).map(({ topic, topicId, partition }) => ({ topic, topicId, partition }));
  }

  remove(kind: AsideKind, topicId: string, partition: number): void {
    for (const aside of this.all(kind)) {
      if (aside.topicId !== topicId || aside.partition !== partition) continue;
      this.disk.remove(`${this.directory}/${asideName(aside)}`);
    }
  }

  /** A path that is free for it. */
  place(aside: ReplicaId & { readonly kind: AsideKind }): string {
    for (let copy = 1; ; copy += 1) {
      const path = `${this.directory}/${asideName({ ...aside, copy })}`;
      if (aside.kind === 'delete' && this.disk.exists(path)) this.disk.remove(path);
      if (!this.disk.exists(path)) return path;
    }
  }

  private all(kind: AsideKind): AsideName[] {
    const asides = this.disk.list(this.directory).map(parseAsideName);
    return asides.flatMap((aside) => (aside?.kind === kind ? aside : []));
  }
}
