/**
 * `/brokers/ids/ID`: which brokers are there, by ephemeral nodes. The node's czxid is the broker epoch.
 *
 * Invariant: a broker id has one owner. A node left over from a session of our own is removed (KAFKA-7165); somebody
 * else's is waited for, one session timeout long, and then respected.
 */
import { Deadline, hasCode, TributaryError, type Clock, type Logger } from '@tributary/common';
import type { Coordinator, CoordinatorNode, Watch } from './coordinator';
import { DerivedWatch } from './derived-watch';
import { decodeBroker, encodeBroker, paths } from './layout';
import type { BrokerRegistration, BrokerRegistry, RegisteredBroker } from './nouns';

export interface BrokerRegistryOptions {
  /** Sessions of earlier processes on the same data directory (from the ticket file). */
  readonly pastSessionIds?: readonly string[];
}

/** The server looks for dead sessions once a tick, so a node outlives its session's timeout a little. */
const EXPIRY_SLACK_MS = 1_000;

export function createBrokerRegistry(
  coordinator: Coordinator,
  clock: Clock,
  logger: Logger,
  options: BrokerRegistryOptions = {},
): BrokerRegistry {
  return new CoordinatedBrokerRegistry(coordinator, clock, logger, options);
}

class CoordinatedBrokerRegistry implements BrokerRegistry {
  private readonly ownSessionIds: Set<string>;

  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
    private readonly logger: Logger,
    options: BrokerRegistryOptions,
  ) {
    this.ownSessionIds = new Set(options.pastSessionIds);
    if (coordinator.sessionId !== undefined) this.ownSessionIds.add(coordinator.sessionId);
    coordinator.onSession((event) => {
      if (event.type === 'opened') this.ownSessionIds.add(event.sessionId);
    });
  }

  async register(registration: BrokerRegistration): Promise<number> {
    const path = paths.broker(registration.brokerId);
    const data = encodeBroker(registration, this.clock.wallTime());
    await this.coordinator.ensurePath(paths.brokers);
    const waitMs = this.coordinator.sessionTimeoutMs + EXPIRY_SLACK_MS;
    const deadline = Deadline.after(this.clock, waitMs);
    for (;;) {
      try {
        const { stat } = await this.coordinator.create(path, data, { ephemeral: true });
        return stat.czxid;
      } catch (error) {
        if (!hasCode(error, 'NODE_EXISTS')) throw error;
      }
      const there = await this.coordinator.get(path);
      if (!there) continue;
      const owner = there.stat.ephemeralOwner;
      if (owner !== undefined && owner === this.coordinator.sessionId) return there.stat.czxid;
      if (owner !== undefined && this.ownSessionIds.has(owner)) {
        await this.removeOwn(path, there);
      } else {
        await this.waitUntilGone(registration.brokerId, there, deadline);
      }
    }
  }

  async list(): Promise<RegisteredBroker[]> {
    const names = (await this.coordinator.children(paths.brokers)) ?? [];
    const brokers = await Promise.all(
      names.map(async (name) => {
        const node = await this.coordinator.get(paths.broker(Number(name)));
        if (!node) return undefined; // it left between the two reads
        return { ...decodeBroker(Number(name), node.data), brokerEpoch: node.stat.czxid };
      }),
    );
    return brokers.filter((broker) => broker !== undefined).sort((a, b) => a.brokerId - b.brokerId);
  }

  /** The children's version tells a bounce, too: the node went and came. */
  watch(onChange: (brokers: RegisteredBroker[]) => void): Watch {
    return DerivedWatch.start((signal) => this.coordinator.watchChildren(paths.brokers, signal), {
      read: () => this.list(),
      onChange,
      clock: this.clock,
      logger: this.logger,
    });
  }

  private async removeOwn(path: string, there: CoordinatorNode): Promise<void> {
    this.logger.info('removing the registration of an earlier session of this broker', { path });
    try {
      await this.coordinator.remove(path, there.stat.version);
    } catch (error) {
      if (!hasCode(error, 'NO_NODE', 'BAD_VERSION')) throw error; // it went by itself
    }
  }

  private async waitUntilGone(
    brokerId: number,
    there: CoordinatorNode,
    deadline: Deadline,
  ): Promise<void> {
    const { hostname } = decodeBroker(brokerId, there.data);
    this.logger.info('broker id is taken, waiting whether its owner is still alive', {
      brokerId,
      hostname,
    });
    let watch: Watch | undefined;
    const gone = new Promise<void>((resolve) => {
      watch = this.coordinator.watchData(paths.broker(brokerId), (node) => {
        if (node?.stat.czxid !== there.stat.czxid) resolve();
      });
    });
    try {
      await deadline.race(gone, `waiting for broker id ${brokerId}`);
    } catch (error) {
      if (!hasCode(error, 'TIMEOUT')) throw error;
      throw new TributaryError(
        'BROKER_ID_IN_USE',
        `broker id ${brokerId} is in use by a broker on ${hostname}`,
        { details: { brokerId, hostname } },
      );
    } finally {
      watch?.stop();
    }
  }
}
