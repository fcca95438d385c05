/**
 * `/controller` (ephemeral) and `/controller_epoch`: who is the controller. Both change in one multi, so an elected
 * controller always has an epoch of its own, and every write of an older one fails its check of the epoch's version.
 *
 * Invariant: a lost reply is read back; `won` is answered only when the node carries this very attempt. A reign that is
 * replaced is the very one that was named: each `/controller` node begins at version 0, so it is the version of
 * `/controller_epoch` in the same multi that tells a reign from the next one.
 */
import { backoffMs, hasCode, sleep, type Clock, type Random } from '@tributary/common';
import type { Coordinator, MultiOperation, Watch } from './coordinator';
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

  async elect(brokerId: number, replacing?: CurrentController): Promise<ElectionResult> {
    const claim = this.random.bytes(12).toString('hex');
    let target = replacing;
    for (let attempt = 0; ; attempt += 1) {
      const view = await this.view();
      const standing = this.standing(view, brokerId, claim);
      if (standing === 'ours') return won(view.epoch, view.epochVersion);
      if (standing === 'another' && !isReign(view.controller, target)) {
        return { won: false, current: view.controller && publicView(view.controller) };
      }
      try {
        await this.coordinator.multi(this.election(view, { brokerId, claim }));
        return won(view.epoch + 1, view.epochVersion + 1);
      } catch (error) {
        // Another one was faster, or nobody knows: look again.
        const known = ['NODE_EXISTS', 'BAD_VERSION', 'NO_NODE', 'SESSION_EXPIRED'] as const;
        if (!hasCode(error, 'COORDINATOR_UNAVAILABLE', ...known)) throw error;
        // What was known of that reign may be over when contact is back: only a win that happened still counts.
        if (hasCode(error, 'COORDINATOR_UNAVAILABLE', 'SESSION_EXPIRED')) target = undefined;
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

  async epoch(): Promise<number> {
    await this.coordinator.barrier();
    const node = await this.coordinator.get(paths.controllerEpoch);
    return node ? decodeControllerEpoch(node.data) : 0;
  }

  watch(onChange: (current: CurrentController | undefined) => void): Watch {
    return this.coordinator.watchData(paths.controller, (node) =>
      onChange(node && publicView(decodeController(node.data))),
    );
  }

  /** Who stands there: this very attempt, a former one of this broker in this session, another broker, nobody. */
  private standing(
    view: ElectionView,
    brokerId: number,
    claim: string,
  ): 'ours' | 'leftover' | 'another' | 'nobody' {
    const { controller, ownedBySession, epoch } = view;
    if (!controller) return 'nobody';
    const thisSession = ownedBySession === this.coordinator.sessionId;
    if (!thisSession || controller.brokerId !== brokerId) return 'another';
    return controller.claim === claim && controller.controllerEpoch === epoch ? 'ours' : 'leftover';
  }

  private election(
    view: ElectionView,
    attempt: { readonly brokerId: number; readonly claim: string },
  ): MultiOperation[] {
    const node = { ...attempt, controllerEpoch: view.epoch + 1 };
    const path = paths.controller;
    const data = encodeController(node, this.clock.wallTime());
    const operations: MultiOperation[] = [
      { type: 'create', path, data, ephemeral: true },
      {
        type: 'set',
        path: paths.controllerEpoch,
        data: encodeControllerEpoch(node.controllerEpoch),
        version: view.epochVersion,
      },
    ];
    // The reign to be replaced; or one won by an attempt of ours that never heard of it: no epoch is used twice.
    if (view.controller) {
      operations.unshift({ type: 'remove', path, version: view.controllerVersion });
    }
    return operations;
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

function won(controllerEpoch: number, epochVersion: number): ElectionResult {
  return { won: true, fence: { controllerEpoch, epochVersion } };
}

function isReign(
  controller: ControllerNode | undefined,
  reign: CurrentController | undefined,
): boolean {
  return (
    controller !== undefined &&
    controller.brokerId === reign?.brokerId &&
    controller.controllerEpoch === reign.controllerEpoch
  );
}

function publicView({ brokerId, controllerEpoch }: ControllerNode): CurrentController {
  return { brokerId, controllerEpoch };
}
