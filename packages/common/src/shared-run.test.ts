import { SharedRun } from './shared-run';

interface Turn {
  readonly end: () => void;
  readonly fail: () => void;
}

function syncs(): { readonly shared: SharedRun; readonly turns: Turn[] } {
  const turns: Turn[] = [];
  const shared = new SharedRun(
    () =>
      new Promise<void>((resolve, reject) => {
        turns.push({ end: resolve, fail: () => reject(new Error('no')) });
      }),
  );
  return { shared, turns };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the first one begins at once; all who come meanwhile share the next one', async () => {
  const { shared, turns } = syncs();
  const done: string[] = [];
  void shared.run().then(() => done.push('a'));
  for (const name of ['b', 'c', 'd']) void shared.run().then(() => done.push(name));
  await settle();
  expect(turns).toHaveLength(1);
  turns[0]!.end();
  await settle();
  // What was changed after the first one began is not vouched for by it.
  expect([done, turns.length]).toEqual([['a'], 2]);
  turns[1]!.end();
  await settle();
  expect([done, turns.length]).toEqual([['a', 'b', 'c', 'd'], 2]);
  void shared.run();
  await settle();
  expect(turns).toHaveLength(3);
});

test('one that failed fails all who share it, and nobody else', async () => {
  const { shared, turns } = syncs();
  const first = shared.run();
  const others = [shared.run(), shared.run()];
  turns[0]!.fail();
  await expect(first).rejects.toThrow('no');
  await settle();
  turns[1]!.fail();
  for (const other of others) await expect(other).rejects.toThrow('no');
  const last = shared.run();
  turns[2]!.end();
  await last;
});

test('who asks while one ends is not left waiting', async () => {
  const { shared, turns } = syncs();
  let again: Promise<void> | undefined;
  const first = shared.run().then(() => {
    again = shared.run();
  });
  turns[0]!.end();
  await first;
  turns[1]?.end();
  await again;
  expect(turns).toHaveLength(2);
});
