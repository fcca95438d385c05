/**
 * GroupStores on the clients of any coordinator harness, for the group store contract.
 */
import { seededRandom, systemClock, type Clock } from '@tributary/common';
import { createGroupStore, type Coordinator, type GroupStore } from '@tributary/coordination';
import type { CoordinatorHarness } from './coordinator-contract';
import type { GroupStoreHarness } from './group-store-contract';

export class CoordinatedGroupsHarness implements GroupStoreHarness {
  private readonly coordinators = new Map<GroupStore, Coordinator>();

  constructor(
    private readonly inner: CoordinatorHarness,
    private readonly clock: Clock = systemClock,
  ) {}

  async store(): Promise<GroupStore> {
    const coordinator = await this.inner.connect();
    const random = seededRandom(this.coordinators.size);
    const store = createGroupStore(coordinator, this.clock, random);
    this.coordinators.set(store, coordinator);
    return store;
  }

  /** Its session is ended by the server, as after a long silence. */
  async kill(store: GroupStore): Promise<void> {
    const victim = this.coordinators.get(store);
    if (!victim?.sessionTicket) return;
    const observer = await this.inner.connect();
    await observer.endSession(victim.sessionTicket);
    await this.inner.until(() => victim.status === 'connected');
    await Promise.all([...this.coordinators.values()].map((each) => each.barrier()));
  }

  until(condition: () => boolean): Promise<void> {
    return this.inner.until(condition);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
