/**
 * `/admin/deleted_topics`: what brokers that were away still have of topics that are gone. Written in the transaction that
 * removes the topic (topic-removal.ts), removed once the broker has confirmed. Controller only.
 */
import { hasCode, type Clock } from '@tributary/common';
import { fencedMulti } from './controller-writes';
import type { Coordinator } from './coordinator';
import { replyWasLost } from './coordinator-errors';
import { decodeOwedDeletion, paths } from './layout';
import type { AgedOwedDeletion, ControllerFence, OwedDeletion, OwedDeletionStore } from './nouns';

const MAX_ATTEMPTS = 20;

export function createOwedDeletionStore(coordinator: Coordinator, clock: Clock): OwedDeletionStore {
  return new CoordinatedOwedDeletions(coordinator, clock);
}

class CoordinatedOwedDeletions implements OwedDeletionStore {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
  ) {}

  async readAll(): Promise<AgedOwedDeletion[]> {
    const names = (await this.coordinator.children(paths.owedDeletions)) ?? [];
    const found = await Promise.all(names.map((name) => this.readOne(name)));
    return found.filter((owed) => owed !== undefined).sort((a, b) => b.ageMs - a.ageMs);
  }

  async settle(fence: ControllerFence, { brokerId, topicId }: OwedDeletion): Promise<void> {
    const path = paths.owedDeletion(brokerId, topicId);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await fencedMulti(this.coordinator, fence, [{ type: 'remove', path, version: undefined }]);
        return;
      } catch (error) {
        if (hasCode(error, 'NO_NODE')) return;
        if (!replyWasLost(error) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  private async readOne(name: string): Promise<AgedOwedDeletion | undefined> {
    try {
      const node = await this.coordinator.get(`${paths.owedDeletions}/${name}`);
      if (!node) return undefined;
      const { deletedAt, ...owed } = decodeOwedDeletion(name, node.data);
      return { ...owed, ageMs: Math.max(0, this.clock.wallTime() - deletedAt) };
    } catch (error) {
      // Of another program, or a later version: not for us to delete by.
      if (hasCode(error, 'UNKNOWN_FORMAT')) return undefined;
      throw error;
    }
  }
}
