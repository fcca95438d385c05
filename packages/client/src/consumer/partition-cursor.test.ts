import { TributaryError } from '@tributary/common';
import { CodecSet, standardCodecs } from '@tributary/record';
import { makeBatch } from '@tributary/testkit';
import { PartitionCursor } from './partition-cursor';

function cursorAt(offset: number): PartitionCursor {
  const cursor = new PartitionCursor({ topic: 't', topicId: 'T', partition: 0 }, undefined);
  cursor.seek(offset);
  return cursor;
}

/** Records 0 to 5 in two batches. */
const first = makeBatch({ values: ['a', 'b', 'c'], baseOffset: 0, leaderEpoch: 4 });
const second = makeBatch({ values: ['d', 'e', 'f'], baseOffset: 3, leaderEpoch: 5 });

function takeAll(cursor: PartitionCursor): string {
  let text = '';
  for (let record = cursor.take(); record; record = cursor.take()) {
    text += record.value?.toString();
    cursor.finish(record);
  }
  return text;
}

describe('a partition cursor', () => {
  test('says which package a codec lacks, and how to get it', () => {
    const missing = new TributaryError('UNSUPPORTED_CODEC', 'codec lz4 needs a package', {
      hint: 'Install it.',
    });
    const decompress = (): never => {
      throw missing;
    };
    const codecs = new CodecSet([{ ...standardCodecs.byName('lz4'), decompress }]);
    const place = { topic: 't', topicId: 'T', partition: 0 };
    const cursor = new PartitionCursor(place, undefined, codecs);
    cursor.seek(0);
    cursor.append(makeBatch({ codec: 'lz4' }));
    const take = (): unknown => cursor.take();
    expect(take).toThrow(TributaryError);
    expect(cursor.position).toBe(0);
    cursor.append(makeBatch({ codec: 'lz4' }));
    try {
      take();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'UNSUPPORTED_CODEC',
        message: 't-0 at offset 0: codec lz4 needs a package',
        hint: 'Install it.',
      });
    }
    expect.assertions(3);
  });

  test('hands out what was fetched, in order, one at a time', () => {
    const cursor = cursorAt(0);
    cursor.append(Buffer.concat([first, second]));
    expect(cursor.fetchOffset).toBe(6);
    const record = cursor.take();
    expect(record?.offset).toBe(0);
    expect(cursor.take()).toBeUndefined(); // the first one is in hand
    cursor.finish(record!);
    expect(takeAll(cursor)).toBe('bcdef');
    expect(cursor.position).toBe(6);
    expect(cursor.consumed).toEqual({ offset: 6, leaderEpoch: 5 });
    expect(cursor.bufferedBytes).toBe(0);
  });

  test('skips what lies before its position, and whole batches that it has', () => {
    const cursor = cursorAt(2);
    cursor.append(first);
    cursor.append(Buffer.concat([first, second]));
    expect(takeAll(cursor)).toBe('cdef');
  });

  test('position is the next record to hand out; consumed lags by the record in hand', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    const record = cursor.take();
    expect([cursor.position, cursor.consumed]).toEqual([1, undefined]);
    cursor.finish(record!);
    expect(cursor.consumed).toEqual({ offset: 1, leaderEpoch: 4 });
  });

  test('the HW never goes back, though a new leader may not know it yet', () => {
    const cursor = cursorAt(0);
    const told = [-1, 5, 3, 8].map((offset) => {
      cursor.highWatermark = offset;
      return cursor.highWatermark;
    });
    expect(told).toEqual([-1, 5, 5, 8]);
  });

  test('KIP-320: knows the epoch of the record before each offset that it asks for', () => {
    const cursor = cursorAt(0);
    expect(cursor.fetchEpoch).toBeUndefined();
    cursor.append(Buffer.concat([first, second]));
    expect([cursor.fetchOffset, cursor.fetchEpoch]).toEqual([6, 5]);
    for (let read = 0; read < 3; read += 1) cursor.finish(cursor.take()!);
    cursor.dropAhead();
    expect([cursor.fetchOffset, cursor.fetchEpoch]).toEqual([3, 4]);
    cursor.append(second);
    cursor.take();
    cursor.rewind();
    expect([cursor.fetchOffset, cursor.fetchEpoch]).toEqual([3, 4]);
    cursor.seek(1);
    expect(cursor.fetchEpoch).toBeUndefined();
    cursor.seek(3, 4);
    expect(cursor.fetchEpoch).toBe(4);
  });

  test('a seek makes answers to older requests void, and drops what was fetched', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    const { version } = cursor;
    cursor.seek(4);
    expect(cursor.version).not.toBe(version);
    expect([cursor.fetchOffset, cursor.bufferedBytes, cursor.take()]).toEqual([4, 0, undefined]);
  });

  test('what was in hand at a seek does not count as consumed at the new place', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    const record = cursor.take();
    cursor.seek(10);
    cursor.finish(record!);
    expect(cursor.consumed).toBeUndefined();
    expect(cursor.position).toBe(10);
  });

  test('rewind brings the record in hand again', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    cursor.finish(cursor.take()!);
    cursor.take();
    cursor.rewind();
    expect([cursor.position, cursor.fetchOffset, cursor.inHand]).toEqual([1, 1, undefined]);
  });

  test('paused it hands out nothing; what is ahead can be given up and fetched again', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    cursor.finish(cursor.take()!);
    cursor.paused = true;
    expect(cursor.take()).toBeUndefined();
    cursor.dropAhead();
    expect([cursor.position, cursor.fetchOffset, cursor.bufferedBytes]).toEqual([1, 1, 0]);
  });

  test('a damaged batch throws with its place, and is asked for again', () => {
    const cursor = cursorAt(0);
    const damaged = Buffer.from(second);
    damaged[65]! ^= 1;
    cursor.append(Buffer.concat([first, damaged]));
    expect(() => takeAll(cursor)).toThrow('t-0 at offset 3');
    expect(cursor.fetchOffset).toBe(3);
    cursor.append(second);
    expect(takeAll(cursor)).toBe('def');
  });

  test('torn bytes are refused', () => {
    const cursor = cursorAt(0);
    expect(() => cursor.append(first.subarray(0, first.length - 1))).toThrow('cut off');
  });

  test('waiting for the record in hand: until it is finished, committed or let go', async () => {
    for (const end of ['finish', 'committed', 'letGo', 'rewind'] as const) {
      const cursor = cursorAt(0);
      cursor.append(first);
      const record = cursor.take()!;
      let idle = false;
      const waiting = cursor.whenIdle().then(() => (idle = true));
      await Promise.resolve();
      expect([idle, cursor.idle]).toEqual([false, false]);
      cursor[end](record);
      await waiting;
      expect(cursor.idle).toBe(true);
    }
  });

  test('retired it hands out nothing more; the record in hand can still be finished', () => {
    const cursor = cursorAt(0);
    cursor.append(first);
    const record = cursor.take()!;
    cursor.retire();
    cursor.finish(record);
    expect(cursor.take()).toBeUndefined();
    expect(cursor.consumed).toEqual({ offset: 1, leaderEpoch: 4 });
  });
});
