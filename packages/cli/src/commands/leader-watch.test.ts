/** What a person who waits for records learns of partitions without a leader. */
import type { Client } from '@tributary/client';
import { LeaderWatch } from './leader-watch';

/** Leaders of the partitions, as the cluster has them at one question after another. */
function watchOf(
  answers: readonly (readonly (number | undefined)[] | Error)[],
  partition?: number,
) {
  const left = [...answers];
  const describeTopic = () => {
    const answer = left.shift();
    if (answer === undefined || answer instanceof Error)
      return Promise.reject(answer ?? new Error());
    const partitions = answer.map((leader, number) => ({ partition: number, leader }));
    return Promise.resolve({ partitions });
  };
  const client = { admin: () => ({ describeTopic }) } as unknown as Client;
  const lines: string[] = [];
  const watch = new LeaderWatch(client, 'orders', { partition, write: (line) => lines.push(line) });
  return { watch, lines };
}

test('one line when leaders are missing, one when they are back, and none in between', async () => {
  const trouble = new Error('nobody answers');
  const { watch, lines } = watchOf([[1, 2], [1, undefined], [1, undefined], trouble, [1, 2]]);
  for (let i = 0; i < 5; i += 1) {
    await watch.check();
    watch['timer']?.close();
  }
  expect(lines).toEqual([
    'orders-1: no leader, waiting for one (trib topic describe orders)\n',
    'orders-1: there is a leader again\n',
  ]);
  watch.stop();
});

test('of one partition, the others say nothing', async () => {
  const { watch, lines } = watchOf([[undefined, 2]], 1);
  await watch.check();
  expect(lines).toEqual([]);
  watch.stop();
});
