import { settle } from '@tributary/testkit';
import { SyncSlots } from './sync-slots';

test('at most two at the same time, in the order of their calls; one that fails makes room as well', async () => {
  const slots = new SyncSlots(2);
  const began: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const sync = (name: string): Promise<string> =>
    slots
      .run(() => {
        began.push(name);
        return new Promise<string>((resolve, reject) =>
          ends.set(name, (error) => (error ? reject(error) : resolve(`${name} done`))),
        );
      })
      .catch((error: Error) => error.message);
  const all = ['a', 'b', 'c', 'd'].map(sync);
  expect(began).toEqual(['a', 'b']); // at once
  ends.get('b')!(new Error('b failed'));
  await settle();
  expect(began).toEqual(['a', 'b', 'c']);
  ends.get('a')!();
  await settle();
  expect(began).toEqual(['a', 'b', 'c', 'd']);
  ends.get('c')!();
  ends.get('d')!();
  expect(await Promise.all(all)).toEqual(['a done', 'b failed', 'c done', 'd done']);
  expect(await slots.run(() => Promise.resolve('again'))).toBe('again');
});
