import { seededRandom } from '@tributary/common';
import { TimerHeap, type HeapTimer } from './timer-heap';

const nothing = (): void => undefined;

test('timers come by due time, then by their making; cancelled ones never', () => {
  const random = seededRandom(7);
  const heap = new TimerHeap();
  const model: HeapTimer[] = [];
  for (let order = 0; order < 500; order += 1) {
    const due = Math.floor(random.next() * 50);
    const entry = { due, order, fire: nothing, cancelled: false };
    heap.push(entry);
    model.push(entry);
  }
  const cancelled = new Set(model.filter(() => random.next() < 0.3));
  for (const entry of cancelled) heap.cancel(entry);
  const expected = model
    .filter((entry) => !cancelled.has(entry))
    .sort((a, b) => a.due - b.due || a.order - b.order);
  expect(heap.size).toBe(expected.length);
  const popped = expected.map(() => heap.pop());
  expect(popped).toEqual(expected);
  expect(heap.pop()).toBeUndefined();
  expect(heap.size).toBe(0);
});

test('cancelling one that has fired, or twice, changes nothing', () => {
  const heap = new TimerHeap();
  const first = { due: 1, order: 0, fire: nothing, cancelled: false };
  const second = { due: 2, order: 1, fire: nothing, cancelled: false };
  heap.push(first);
  heap.push(second);
  expect(heap.pop()).toBe(first);
  heap.cancel(first);
  expect(heap.size).toBe(1);
  heap.cancel(second);
  heap.cancel(second);
  expect(heap.size).toBe(0);
  expect(heap.peek()).toBeUndefined();
});
