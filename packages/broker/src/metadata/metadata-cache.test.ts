import { Deadline } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import { ClusterImage } from './cluster-image';
import { MetadataCache, maxImageWaiters } from './metadata-cache';

function image(sequence: number, controllerEpoch = 1): ClusterImage {
  const content = { controllerId: 1, brokers: [], topics: [], partitions: [] };
  return ClusterImage.from({ ...content, controllerEpoch, sequence });
}

describe('MetadataCache', () => {
  it('wakes those whom the new image satisfies', async () => {
    const clock = new SimulatedClock();
    const cache = new MetadataCache();
    const waiting = cache.waitFor((i) => i.sequence >= 2, Deadline.after(clock, 1_000), 'two');
    cache.replace(image(1));
    cache.replace(image(2));
    expect((await waiting).sequence).toBe(2);
    const now = await cache.waitFor(() => true, Deadline.after(clock, 1_000), 'any');
    expect(now.sequence).toBe(2);
  });

  it('gives up at the deadline', async () => {
    const clock = new SimulatedClock();
    const waiting = new MetadataCache().waitFor(() => false, Deadline.after(clock, 100), 'never');
    await expect(clock.settleWithin(waiting, 200)).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('says so while it knows nothing', () => {
    const cache = new MetadataCache();
    expect(() => cache.require()).toThrow('not heard from a controller');
    cache.replace(image(1));
    expect(cache.require().sequence).toBe(1);
  });

  it('never goes back to an older controller', () => {
    const cache = new MetadataCache();
    cache.replace(image(1, 5));
    expect(() => cache.replace(image(9, 4))).toThrow('older controller');
  });

  it('bounds those who wait', async () => {
    const clock = new SimulatedClock();
    const cache = new MetadataCache();
    const wait = () => cache.waitFor((i) => i.sequence > 0, Deadline.after(clock, 1_000), 'it');
    const waiting = Array.from({ length: maxImageWaiters }, wait);
    await expect(wait()).rejects.toMatchObject({ code: 'OVERLOADED' });
    cache.replace(image(1));
    await Promise.all(waiting);
    await wait();
  });
});
