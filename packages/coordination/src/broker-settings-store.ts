/**
 * `/config/brokers/ID`: what was altered of a broker's settings while it runs, and its duty. Written by the controller
 * alone, by compare-and-set. Invariant: a write whose reply was lost is read back before it is answered.
 */
import { hasCode } from '@tributary/common';
import { fencedCompareAndSet } from './controller-writes';
import type { Coordinator } from './coordinator';
import { decodeBrokerSettings, encodeBrokerSettings, paths } from './layout';
import {
  allBrokers,
  type BrokerSettings,
  type BrokerSettingsStore,
  type ControllerFence,
  type VersionedBrokerSettings,
} from './nouns';

const DEFAULT_NAME = '<default>';

export function createBrokerSettingsStore(coordinator: Coordinator): BrokerSettingsStore {
  return new CoordinatedBrokerSettings(coordinator);
}

class CoordinatedBrokerSettings implements BrokerSettingsStore {
  constructor(private readonly coordinator: Coordinator) {}

  async readAll(): Promise<VersionedBrokerSettings[]> {
    const names = (await this.coordinator.children(paths.brokerConfigs)) ?? [];
    const ids = names.map((name) => (name === DEFAULT_NAME ? allBrokers : Number(name)));
    const found = await Promise.all(ids.map((brokerId) => this.readOne(brokerId)));
    return found.filter((settings) => settings !== undefined);
  }

  async write(
    fence: ControllerFence,
    settings: BrokerSettings,
    expectedVersion: number | undefined,
  ): Promise<VersionedBrokerSettings> {
    await this.coordinator.ensurePath(paths.brokerConfigs);
    const path = paths.brokerConfig(settings.brokerId);
    const change = { path, data: encodeBrokerSettings(settings), expectedVersion };
    const [version] = await fencedCompareAndSet(this.coordinator, fence, [change]);
    return { ...settings, version: version ?? 0 };
  }

  private async readOne(brokerId: number): Promise<VersionedBrokerSettings | undefined> {
    if (!Number.isSafeInteger(brokerId)) return undefined; // not one of ours
    try {
      const node = await this.coordinator.get(paths.brokerConfig(brokerId));
      return node && { ...decodeBrokerSettings(brokerId, node.data), version: node.stat.version };
    } catch (error) {
      // Written by another program: what it says is not for us.
      if (hasCode(error, 'UNKNOWN_FORMAT')) return undefined;
      throw error;
    }
  }
}
