import type { InitProducerRequest } from '@tributary/protocol';
import { maxProducerEpoch, ProducerIds } from './init-producer-handler';

function ids(blockSize = 3) {
  let next = 0;
  const taken: number[] = [];
  const producerIds = new ProducerIds(
    {
      next: async (brokerId) => {
        taken.push(brokerId);
        const first = next;
        next += blockSize;
        return { first, size: blockSize };
      },
    },
    4,
  );
  const init = (request: Partial<InitProducerRequest> = {}) =>
    producerIds.init({ producerEpoch: 0, ...request });
  return { init, taken };
}

describe('InitProducer', () => {
  it('gives each caller another id, one block after another', async () => {
    const { init, taken } = ids();
    const all = await Promise.all(Array.from({ length: 7 }, () => init()));
    expect(all.map(({ producerId }) => producerId).sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(all.every(({ producerEpoch }) => producerEpoch === 0)).toBe(true);
    expect(taken).toEqual([4, 4, 4]);
  });

  it('bumps the epoch of a given id', async () => {
    const { init, taken } = ids();
    expect(await init({ producerId: 77, producerEpoch: 5 })).toEqual({
      producerId: 77,
      producerEpoch: 6,
    });
    expect(taken).toEqual([]);
  });

  it('an id whose epochs are used up is replaced by a new one', async () => {
    const { init } = ids();
    expect(await init({ producerId: 77, producerEpoch: maxProducerEpoch })).toEqual({
      producerId: 0,
      producerEpoch: 0,
    });
  });

  it('what cannot be an id or an epoch is refused', async () => {
    const { init } = ids();
    await expect(init({ producerId: -2, producerEpoch: 0 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(init({ producerId: 1, producerEpoch: 40_000 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('a block that cannot be had is an error, and asked for again by the next', async () => {
    let isDown = true;
    const producerIds = new ProducerIds(
      {
        next: async () => {
          if (isDown) throw new Error('down');
          return { first: 10, size: 1 };
        },
      },
      1,
    );
    await expect(producerIds.init({ producerEpoch: 0 })).rejects.toThrow('down');
    isDown = false;
    expect(await producerIds.init({ producerEpoch: 0 })).toMatchObject({ producerId: 10 });
  });
});
