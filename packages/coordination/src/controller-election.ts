/**
 * `/controller` (ephemeral) and `/controller_epoch`: who is the controller. Both change in one multi, so an elected
 * controller always has an epoch of its own, and every write of an older one fails its check of the epoch's version.
 *
 * Invariant: a lost reply is read back; `won` is answered only when the node carries this very attempt.
 */
import { backoffMs, hasCode, sleep, type Clock, type Random } from '@tributary/common';
import type { Coordinator, Watch } from './coordinator';
import {
  decodeController,
  decodeControllerEpoch,
  encodeController,
  encodeControllerEpoch,
  paths,
  type ControllerNode,
} from './layout';
import type {
  ControllerElection,
  ControllerFence,
  CurrentController,
  ElectionResult,
} from './nouns';

export function createControllerElection(
  coordinator: Coordinator,
  clock: Clock,
  random: Random,
): ControllerElection {
  return new CoordinatedElection(coordinator, clock, random);
}

interface ElectionView {
  readonly controller: ControllerNode | undefined;
  readonly ownedBySession: string | undefined;
  readonly controllerVersion: number;
  readonly epoch: number;
  readonly epochVersion: number;
}

class CoordinatedElection implements ControllerElection {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  async elect(brokerId: number): Promise<ElectionResult> {
    const claim = this.random.bytes(12).toString('hex');
    for (let attempt = 0; ; attempt += 1) {
      const view = await this.view();
      if (view.controller) return this.outcome(view, view.controller, brokerId, claim);
      const node = { brokerId, controllerEpoch: view.epoch + 1, claim };
      try {
        const results = await this.coordinator.multi([
          {
            type: 'create',
            path: paths.controller,
            data: encodeController(node, this.clock.wallTime()),
            ephemeral: true,
          },
          {
            type: 'set',
            path: paths.controllerEpoch,
            data: encodeControllerEpoch(node.controllerEpoch),
            version: view.epochVersion,
          },
        ]);
        const epochVersion = results[1]?.stat?.version ?? view.epochVersion + 1;
        return { won: true, fence: { controllerEpoch: node.controllerEpoch, epochVersion } };
      } catch (error) {
        // Another one was faster, or nobody knows: look again.
        const ambiguous = hasCode(error, 'COORDINATOR_UNAVAILABLE', 'SESSION_EXPIRED');
        if (!ambiguous && !hasCode(error, 'NODE_EXISTS', 'BAD_VERSION')) throw error;
        await sleep(this.clock, backoffMs(attempt, this.random, { baseMs: 10, maxMs: 200 }));
        await this.coordinator.barrier();
      }
    }
  }

  async resign(fence: ControllerFence): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const view = await this.view();
      const stillOurs =
        view.controller?.controllerEpoch === fence.controllerEpoch &&
        view.epochVersion === fence.epochVersion;
      if (!stillOurs) return;
      try {
        await this.coordinator.multi([
          { type: 'check', path: paths.controllerEpoch, version: fence.epochVersion },
          { type: 'remove', path: paths.controller, version: view.controllerVersion },
        ]);
        return;
      } catch (error) {
        if (hasCode(error, 'NO_NODE', 'BAD_VERSION')) return; // no longer ours to remove
        if (!hasCode(error, 'COORDINATOR_UNAVAILABLE', 'SESSION_EXPIRED')) throw error;
        await sleep(this.clock, backoffMs(attempt, this.random, { baseMs: 10, maxMs: 200 }));
      }
    }
  }

  async current(): Promise<CurrentController | undefined> {
    const node = await this.coordinator.get(paths.controller);
    return node && publicView(decodeController(node.data));
  }

  watch(onChange: (current: CurrentController | undefined) => void): Watch {
    return this.coordinator.watchData(paths.controller, (node) =>
      onChange(node && publicView(decodeController(node.data))),
    );
  }

  /** There is a controller: is it this very attempt of ours, in the session that we have now? */
  private outcome(
    view: ElectionView,
    controller: ControllerNode,
    brokerId: number,
    claim: string,
  ): ElectionResult {
    const ours =
      controller.claim === claim &&
      controller.brokerId === brokerId &&
      controller.controllerEpoch === view.epoch &&
      view.ownedBySession === this.coordinator.sessionId;
    if (!ours) return { won: false, current: publicView(controller) };
    const { epoch, epochVersion } = view;
    return { won: true, fence: { controllerEpoch: epoch, epochVersion } };
  }

  private async view(): Promise<ElectionView> {
    for (;;) {
      // The epoch first: should it change before the second read, its version no longer fits, and the multi is refused.
      const epoch = await this.coordinator.get(paths.controllerEpoch);
      if (!epoch) {
        await this.createEpoch();
        continue;
      }
      const controller = await this.coordinator.get(paths.controller);
      const decoded = controller && decodeController(controller.data);
      const value = decodeControllerEpoch(epoch.data);
      // Elected between the two reads: read a pair that belongs together.
      if (decoded && decoded.controllerEpoch > value) continue;
      return {
        controller: decoded,
        ownedBySession: controller?.stat.ephemeralOwner,
        controllerVersion: controller?.stat.version ?? 0,
        epoch: value,
        epochVersion: epoch.stat.version,
      };
    }
  }

  private async createEpoch(): Promise<void> {
    try {
      await this.coordinator.create(paths.controllerEpoch, encodeControllerEpoch(0));
    } catch (error) {
      if (!hasCode(error, 'NODE_EXISTS')) throw error;
    }
  }
}

function publicView({ brokerId, controllerEpoch }: ControllerNode): CurrentController {
  return { brokerId, controllerEpoch };
}
