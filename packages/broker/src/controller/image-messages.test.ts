import { ImageAssembly } from '../control/image-assembly';
import type { ClusterImage } from '../metadata/cluster-image';
import type { ImageChunk } from '@tributary/protocol';
import { imageChunks, maxEntriesPerChunk } from './image-messages';
import { ControllerScript, storedState, topicContext } from './controller-script.fixture';

const assignment = Array.from({ length: maxEntriesPerChunk + 20 }, () => [1, 2]);

function manyPartitions(): ImageChunk[] {
  const script = new ControllerScript().begin([1, 2], [topicContext('orders', assignment)]);
  return imageChunks(script.state) as ImageChunk[];
}

describe('image in chunks', () => {
  it('is bounded per chunk and whole when put together', () => {
    const chunks = manyPartitions();
    expect(chunks.map(({ chunk, last }) => [chunk, last])).toEqual([
      [0, false],
      [1, true],
    ]);
    const assembly = new ImageAssembly(7);
    const images = chunks.map((chunk) => assembly.add(chunk));
    expect(images[0]).toBeUndefined();
    const image = images[1] as ClusterImage;
    expect(image.partitions('orders-id')).toHaveLength(assignment.length);
    expect(image.brokers().map(({ brokerId }) => brokerId)).toEqual([1, 2]);
    expect([image.controllerId, image.controllerEpoch]).toEqual([1, 7]);
  });

  it('a chunk that is missing or of another image is refused', () => {
    const [first, second] = manyPartitions();
    expect(() => new ImageAssembly(7).add(second!)).toThrow('chunk 1');
    const assembly = new ImageAssembly(7);
    assembly.add(first!);
    expect(() => assembly.add({ ...second!, sequence: 99 })).toThrow('image 99');
  });

  it('a topic that is not whole yet, or is being deleted, is not in it', () => {
    const script = new ControllerScript().begin([1], [topicContext('half', [[1], [9]])]);
    const topics = imageChunks(script.state).flatMap((chunk) => chunk.topics ?? []);
    expect(topics).toEqual([]);
  });

  it('a topic to which an earlier controller was adding a partition is in it, with what it has', () => {
    const states = [storedState('orders', 0, { leader: 1, isr: [1] })];
    const topic = topicContext('orders', [[1], [9]], states);
    const { state } = new ControllerScript().begin([1], [topic]);
    const chunks = imageChunks(state);
    expect(chunks.flatMap(({ topics }) => topics ?? [])).toMatchObject([{ topic: 'orders' }]);
    const partitions = chunks.flatMap((chunk) => chunk.partitions ?? []);
    expect(partitions).toMatchObject([{ topic: 'orders', partition: 0, leader: 1 }]);
  });
});
