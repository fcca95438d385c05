import { codecOf } from '../codec';
import { maxElementsAsked, maxElementsTold } from './element-limit';

/** A list field again and again, with an empty element each: two bytes on the wire, an object in memory. */
function repeatedly(fieldNumber: number, times: number): Buffer {
  return Buffer.alloc(2 * times, Buffer.from([(fieldNumber << 3) | 2, 0]));
}

function inside(fieldNumber: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(fieldNumber << 3) | 2, ...length]), bytes]);
}

const tooMany = repeatedly(1, maxElementsAsked + 1);

describe('the limit of elements in a message', () => {
  it.each([
    ['partitions of a fetch', 'FetchRequest', repeatedly(6, maxElementsAsked + 1)],
    ['partitions of a produce stream', 'ProduceUp', inside(2, repeatedly(4, maxElementsAsked + 1))],
    ['acknowledgements', 'FollowUp', inside(5, tooMany)],
    ['members of a oneof, of which one counts', 'FollowUp', repeatedly(3, maxElementsAsked + 1)],
    ['names of topics', 'MetadataRequest', tooMany],
    ['awaited leaders', 'MetadataRequest', repeatedly(4, maxElementsAsked + 1)],
    ['moves', 'ReassignPartitionsRequest', tooMany],
    ['settings', 'AlterTopicRequest', repeatedly(3, maxElementsAsked + 1)],
    ['replicas of a move', 'ReassignPartitionsRequest', inside(1, inside(4, Buffer.alloc(8 * maxElementsAsked)))], // prettier-ignore
    ['replicas of a move, one by one', 'ReassignPartitionsRequest', inside(1, Buffer.alloc(2 * maxElementsAsked, Buffer.from([0x20, 1])))], // prettier-ignore
    ['records', 'StructuredRecords', tooMany],
    ['records in a produce stream', 'ProduceUp', inside(2, inside(4, inside(6, tooMany)))],
    ['partitions of a delta', 'ControlDown', inside(3, repeatedly(6, maxElementsTold))],
  ])('refuses too many %s before anything is made of them', (_, name, bytes) => {
    expect(() => codecOf(name).decode(bytes)).toThrow(/not a \w+: more than \d+ elements/);
  });

  it('takes what requests may name, and what brokers tell', () => {
    const { awaited } = codecOf<never, { awaited: unknown[] }>('MetadataRequest').decode(
      repeatedly(4, 10_000),
    );
    expect(awaited).toHaveLength(10_000);
    const many = codecOf<never, { topics: unknown[] }>('MetadataResponse').decode(
      repeatedly(4, maxElementsAsked + 1),
    );
    expect(many.topics).toHaveLength(maxElementsAsked + 1);
  });
});
