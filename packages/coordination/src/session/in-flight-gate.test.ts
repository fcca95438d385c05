import { InFlightGate } from './in-flight-gate';

test('lets so many through at once, others in order, and refuses beyond the line', async () => {
  const gate = new InFlightGate(2, 3);
  const order: number[] = [];
  const release: (() => void)[] = [];
  const request = (id: number) =>
    gate.pass(
      () =>
        new Promise<void>((resolve) => {
          order.push(id);
          release.push(resolve);
        }),
    );
  const running = [1, 2, 3, 4, 5].map(request);
  await expect(request(6)).rejects.toMatchObject({ code: 'OVERLOADED', outcome: 'not written' });
  expect(order).toEqual([1, 2]);
  for (let id = 1; id <= 5; id += 1) {
    while (release.length === 0) await Promise.resolve();
    release.shift()?.();
    await running[id - 1];
  }
  expect(order).toEqual([1, 2, 3, 4, 5]);
});

test('a request that fails gives its place back', async () => {
  const gate = new InFlightGate(1);
  await expect(gate.pass(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.pass(() => Promise.resolve('yes'))).toBe('yes');
});
