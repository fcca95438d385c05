/**
 * Asks the coordinator whether this broker still leads what it leads, once no controller has been heard for so long that one
 * may have elected others. A leader that is cut off from its peers, and from them alone, would else keep its producers
 * waiting for acknowledgements that cannot come, and its readers at a log that does not grow any more.
 *
 * Invariant: only a state of the same topic in a later leader epoch ends a leadership, so an answer of the coordinator that
 * is old ends none. Called by Broker.
 */
import { partitionsByTopic, type Clock, type Logger, type Timer } from '@tributary/common';
import type { PartitionStateStore } from '@tributary/coordination';
import type { ReplicaHost } from './seams';

/** How often it is looked whether the controller is silent, and while it is, at the states. */
export const leadershipCheckMs = 500;

export interface LeadershipCheckOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly states: Pick<PartitionStateStore, 'read'>;
  readonly host: () => Pick<ReplicaHost, 'leaderships' | 'endLeadership'>;
  readonly controllerSilentForMs: () => number;
  /** As long as that the controller waits before it elects others. */
  readonly heartbeatTimeoutMs: number;
}

export class LeadershipCheck {
  private timer: Timer | undefined;
  private stopped = false;

  constructor(private readonly options: LeadershipCheckOptions) {}

  start(): void {
    if (this.stopped) return;
    this.timer = this.options.clock.setTimer(leadershipCheckMs, () => {
      void this.check().finally(() => this.start());
    });
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private async check(): Promise<void> {
    const { controllerSilentForMs, heartbeatTimeoutMs, host, logger } = this.options;
    if (controllerSilentForMs() < heartbeatTimeoutMs) return;
    try {
      for (const [topic, partitions] of partitionsByTopic(host().leaderships())) {
        await this.checkTopic(topic, partitions);
      }
    } catch (error) {
      logger.debug('the partition states cannot be read', { error });
    }
  }

  private async checkTopic(topic: string, partitions: readonly number[]): Promise<void> {
    const { states, host } = this.options;
    for (const state of await states.read(topic, partitions)) {
      if (this.stopped) return;
      host().endLeadership(state, `leader epoch ${state.leaderEpoch} began`);
    }
  }
}
