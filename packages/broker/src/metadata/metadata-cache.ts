/**
 * Holds the image in force and wakes those who wait for one that satisfies them. Written by the receiver of
 * the control stream alone; read by every handler.
 * Invariant: controller epoch and sequence never go back. Waiters are bounded by `maxImageWaiters`.
 */
import { assert, TributaryError, type Deadline } from '@tributary/common';
import { ClusterImage } from './cluster-image';

/** Calls that may wait for an image at once. */
export const maxImageWaiters = 2_000;

interface Waiter {
  check(image: ClusterImage): void;
}

export class MetadataCache {
  private current = ClusterImage.empty;
  private readonly waiters = new Set<Waiter>();

  get image(): ClusterImage {
    return this.current;
  }

  /** False until the first image has come. */
  get known(): boolean {
    return this.current.controllerEpoch >= 0;
  }

  /** The image, or UNAVAILABLE while no controller has sent one. */
  require(): ClusterImage {
    if (this.known) return this.current;
    throw new TributaryError('UNAVAILABLE', 'this broker has not heard from a controller yet', {
      hint: 'Try again in a moment, or ask another broker.',
    });
  }

  replace(image: ClusterImage): void {
    assert(image.controllerEpoch >= this.current.controllerEpoch, 'image of an older controller');
    this.current = image;
    for (const waiter of [...this.waiters]) waiter.check(image);
  }

  /** Resolves with the first image, the present one included, for which `satisfied` is true. */
  async waitFor(
    satisfied: (image: ClusterImage) => boolean,
    deadline: Deadline,
    what: string,
  ): Promise<ClusterImage> {
    if (satisfied(this.current)) return this.current;
    if (this.waiters.size >= maxImageWaiters) {
      throw new TributaryError('OVERLOADED', `more than ${maxImageWaiters} calls wait for ${what}`);
    }
    let waiter: Waiter | undefined;
    const work = new Promise<ClusterImage>((resolve) => {
      waiter = { check: (image) => satisfied(image) && resolve(image) };
      this.waiters.add(waiter);
    });
    try {
      return await deadline.race(work, what);
    } finally {
      if (waiter) this.waiters.delete(waiter);
    }
  }
}
