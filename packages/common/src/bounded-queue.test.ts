import fc from 'fast-check';
import { BoundedQueue } from './bounded-queue';

describe('BoundedQueue', () => {
  test('refuses beyond its limit and takes again after a shift', () => {
    const queue = new BoundedQueue<number>(2);
    expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
    expect(queue.shift()).toBe(1);
    expect(queue.push(4)).toBe(true);
    expect(queue.drain()).toEqual([2, 4]);
    expect(queue.peek()).toBeUndefined();
  });

  test('behaves like an array with a limit', () => {
    const command = fc.oneof(fc.constant('shift' as const), fc.integer());
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 200 }),
        fc.integer({ min: 1, max: 40 }),
        (commands, limit) => {
          const queue = new BoundedQueue<number>(limit);
          const model: number[] = [];
          for (const next of commands) {
            if (next === 'shift') expect(queue.shift()).toBe(model.shift());
            else if (model.length < limit)
              expect(queue.push(next) && model.push(next)).toBeTruthy();
            else expect(queue.push(next)).toBe(false);
            expect(queue.length).toBe(model.length);
            expect(queue.peek()).toBe(model[0]);
          }
          expect(queue.drain()).toEqual(model);
        },
      ),
    );
  });
});
