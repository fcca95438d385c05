/**
 * How many threads of the process may wait for one device at a time. Invariant: a device that does not answer keeps no more
 * than its share of the thread pool, so that the reads and syncs of the other log directories go on. Called by NodeDisk.
 */
import { SyncSlots } from '../sync-slots';

/** Below the size of the pool, which the broker process sets to 32: three devices may hang and leave room for a fourth. */
export const SYNCS_PER_DEVICE = 6;
export const READS_PER_DEVICE = 4;
/** Of the syncs: what is removed may take long, and must not keep the others from the device. */
export const REMOVALS_PER_DEVICE = 2;

export interface DeviceSlots {
  readonly syncs: SyncSlots;
  readonly reads: SyncSlots;
  /** Each takes a slot of the syncs, too, and no sync ever one of these. */
  readonly removals: SyncSlots;
}

export class DeviceSlotsTable {
  private readonly byDevice = new Map<number, DeviceSlots>();

  /** @param device number of the file system, as stat tells it. */
  of(device: number): DeviceSlots {
    const slots = this.byDevice.get(device) ?? {
      syncs: new SyncSlots(SYNCS_PER_DEVICE),
      reads: new SyncSlots(READS_PER_DEVICE),
      removals: new SyncSlots(REMOVALS_PER_DEVICE),
    };
    this.byDevice.set(device, slots);
    return slots;
  }
}
