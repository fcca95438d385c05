import { SimulatedClock } from '@tributary/testkit';
import { waitUntilDone, type Progress } from './wait-until';

/** One look after another, half a second apart; the last one stays. */
async function said(looks: readonly Progress[], ms: number): Promise<string[]> {
  const clock = new SimulatedClock();
  const texts: string[] = [];
  let at = 0;
  const look = (): Promise<Progress> => {
    const progress = looks[Math.min(at, looks.length - 1)];
    at += 1;
    return Promise.resolve(progress ?? { done: true, lines: [] });
  };
  void waitUntilDone(look, { clock, say: (text) => texts.push(text) });
  await clock.advance(ms);
  return texts;
}

const open = (...lines: string[]): Progress => ({ done: false, lines });

test('a line is said once, until it changes; the others are not said again', async () => {
  const looks = [open('a', 'b'), open('a', 'b'), open('a', 'c'), { done: true, lines: ['over'] }];
  expect(await said(looks, 10_000)).toEqual(['a\nb\n', 'c\n', 'over\n']);
});

test('a line that comes back is news again', async () => {
  const looks = [open('a'), open('b'), open('a'), { done: true, lines: [] }];
  expect(await said(looks, 10_000)).toEqual(['a\n', 'b\n', 'a\n']);
});

test('details come with their line, and then every 5 s, where they changed', async () => {
  const counting = Array.from({ length: 30 }, (_, at) => ({
    ...{ done: false, lines: ['a', 'b'], details: [`${at} of 30`, ''] },
  }));
  expect(await said(counting, 11_000)).toEqual([
    'a (0 of 30)\nb\n',
    'a (10 of 30)\n',
    'a (20 of 30)\n',
  ]);
});

test('details that stay are not said again', async () => {
  const stuck = { done: false, lines: ['a'], details: ['3 of 30'] };
  expect(await said([stuck], 20_000)).toEqual(['a (3 of 30)\n']);
});
