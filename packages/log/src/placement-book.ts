/**
 * The placement record of this broker while it runs, and its copies in the directories. Invariant: what `put` resolved for
 * is on the device in every directory that serves. A write that a directory cannot take fails, unless that
 * directory is offline from then on. Called by LogDirectories.
 */
import { partitionKey } from '@tributary/common';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';
import type { ReplicaId } from './log-store';
import {
  formatPlacement,
  PLACEMENT_FILE,
  type Placement,
  type PlacementRecord,
} from './placement-record';

/** A directory as this needs it. */
export interface PlacementHolder {
  readonly directory: string;
  readonly failure: Error | undefined;
  suspect(): Promise<void>;
}

export class PlacementBook {
  private readonly files: { readonly holder: PlacementHolder; readonly file: DurableTextFile }[];
  private readonly paths: ReadonlyMap<string, string>;
  private readonly placements: Map<string, Placement>;
  private generation: number;
  private newest = 0;
  private durable = 0;
  private running: Promise<void> | undefined;

  constructor(
    disk: Disk,
    holders: readonly PlacementHolder[],
    begin: PlacementRecord & { readonly placements: Map<string, Placement> },
  ) {
    this.paths = begin.paths;
    this.placements = begin.placements;
    this.generation = begin.generation;
    this.files = holders.map((holder) => ({
      holder,
      file: new DurableTextFile(disk, `${holder.directory}/${PLACEMENT_FILE}`),
    }));
  }

  get(topicId: string, partition: number): Placement | undefined {
    return this.placements.get(partitionKey(topicId, partition));
  }

  all(): Placement[] {
    return [...this.placements.values()];
  }

  pathOf(directoryId: string): string {
    return this.paths.get(directoryId) ?? directoryId;
  }

  /** Not there when it rejects. */
  async put(placement: Placement): Promise<void> {
    const key = partitionKey(placement.topicId, placement.partition);
    const before = this.placements.get(key);
    this.placements.set(key, placement);
    try {
      await this.persist();
    } catch (error) {
      if (before) this.placements.set(key, before);
      else this.placements.delete(key);
      throw error;
    }
  }

  /** When it rejects, a directory may name it still. */
  async remove({ topicId, partition }: Omit<ReplicaId, 'topic'>): Promise<void> {
    const isThere = this.placements.delete(partitionKey(topicId, partition));
    if (isThere || this.durable < this.newest) await this.persist();
  }

  /** Many changes at once make one write. */
  async persist(): Promise<void> {
    const mine = (this.newest += 1);
    while (this.durable < mine) {
      this.running ??= this.writeAll().finally(() => (this.running = undefined));
      await this.running;
    }
  }

  private async writeAll(): Promise<void> {
    const { newest, paths, placements } = this;
    this.generation += 1;
    const text = formatPlacement({ generation: this.generation, paths, placements });
    const serving = this.files.filter(({ holder }) => !holder.failure);
    await Promise.all(serving.map(({ holder, file }) => writeOne(holder, file, text)));
    this.durable = newest;
  }
}

async function writeOne(
  holder: PlacementHolder,
  file: DurableTextFile,
  text: string,
): Promise<void> {
  try {
    await file.write(text);
  } catch (error) {
    await holder.suspect();
    if (!holder.failure) throw error;
  }
}
