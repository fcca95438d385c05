/**
 * `/latest_producer_id_block`: brokers take blocks of producer ids by compare-and-set, so that no id is given twice.
 * A block whose reply was lost for good is never used: ids are plenty.
 */
import { assertSafeInteger, hasCode, type Random } from '@tributary/common';
import type { Coordinator } from './coordinator';
import { decodeProducerIdBlock, encodeProducerIdBlock, paths } from './layout';
import type { ProducerIdBlocks } from './nouns';

export const producerIdBlockSize = 1_000;

export function createProducerIdBlocks(coordinator: Coordinator, random: Random): ProducerIdBlocks {
  return {
    async next(brokerId) {
      for (;;) {
        const there = await coordinator.get(paths.producerIdBlock);
        const first = there ? decodeProducerIdBlock(there.data).last + 1 : 0;
        const last = first + producerIdBlockSize - 1;
        assertSafeInteger(last, 'producer id');
        const claim = random.bytes(12).toString('hex');
        const data = encodeProducerIdBlock({ brokerId, first, last, claim });
        try {
          if (there) await coordinator.set(paths.producerIdBlock, data, there.stat.version);
          else await coordinator.create(paths.producerIdBlock, data);
          return { first, size: producerIdBlockSize };
        } catch (error) {
          // Another broker took it: the next one.
          if (!hasCode(error, 'BAD_VERSION', 'NODE_EXISTS')) throw error;
        }
      }
    },
  };
}
