import { SimulatedClock } from '@tributary/testkit';
import { watchParent } from './parent-watch';

test('fires once, when the parent has become another one', async () => {
  const clock = new SimulatedClock();
  let parent = 10;
  let gone = 0;
  watchParent(
    10,
    () => (gone += 1),
    clock,
    () => parent,
  );
  await clock.advance(1000);
  expect(gone).toBe(0);
  parent = 1;
  await clock.advance(1000);
  expect(gone).toBe(1);
});

test('fires at once when the parent died before', () => {
  let gone = 0;
  watchParent(
    10,
    () => (gone += 1),
    new SimulatedClock(),
    () => 1,
  );
  expect(gone).toBe(1);
});
