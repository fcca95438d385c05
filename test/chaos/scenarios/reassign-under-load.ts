/**
 * Replicas move between four brokers while the partitions are written to: once in peace, once while the controller
 * dies in the middle, which the next one must go on with.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { randomInteger, type Random } from '@tributary/common';
import type { PartitionMove } from '@tributary/client';
import { topics } from '../load/load';
import type { Scenario, Stage } from '../scenario';
import { chooseVictim } from './victims';

const ADMIN_TIMEOUT_MS = 20_000;
const DONE_WITHIN_MS = 30_000;
const POLL_MS = 100;
const DOWN_MS = 2_000;

export const reassignUnderLoad: Scenario = {
  name: 'reassign-under-load',
  summary: 'move replicas between four brokers, also while the controller dies',
  needs: ['fourth-broker'],
  roundSeconds: () => 20,
  errorsAllowed: false,
  async faults(stage) {
    await round(stage, () => Promise.resolve());
    await round(stage, () => killController(stage));
  },
};

async function round(stage: Stage, meanwhile: () => Promise<void>): Promise<void> {
  const { timeline, client, watch, violation } = stage;
  const moves = chooseMoves(stage);
  const named = moves.map(({ partition, replicas }) => `${partition}->${replicas.join(',')}`);
  const healed = timeline.fault(`moving replicas: ${named.join(' ')}`);
  const results = await client.admin().reassignPartitions(moves, { timeoutMs: ADMIN_TIMEOUT_MS });
  for (const { partition, error } of results) {
    if (error) violation(`partition ${partition} was not moved: ${error.code}: ${error.message}`);
  }
  await meanwhile();
  const until = performance.now() + DONE_WITHIN_MS;
  const done = (): boolean =>
    moves.every(({ partition, replicas }) => sameOrder(watch.replicas().get(partition), replicas));
  while (!done()) {
    if (performance.now() > until) {
      violation(`moves are not done within ${DONE_WITHIN_MS} ms: ${unfinished(stage, moves)}`);
      break;
    }
    await pause(POLL_MS);
  }
  healed('the replicas have moved');
}

async function killController(stage: Stage): Promise<void> {
  const { cluster, timeline } = stage;
  const victim = await chooseVictim(stage, 'controller');
  timeline.note(`kill -9 broker ${victim} (controller) while replicas move`);
  await cluster.kill(victim);
  await pause(DOWN_MS);
  timeline.note(`starting broker ${victim} again`);
  await cluster.startBroker(victim);
}

/** Every other partition, to three brokers chosen by lot. */
function chooseMoves({ cluster, watch, random }: Stage): PartitionMove[] {
  return [...watch.replicas()]
    .filter(([partition]) => partition % 2 === 0)
    .map(([partition, before]) => {
      const replicas = shuffle(random, cluster.brokerIds).slice(0, before.length);
      return { topic: topics.main, partition, replicas };
    });
}

function unfinished({ watch }: Stage, moves: readonly PartitionMove[]): string {
  const now = watch.replicas();
  return moves
    .filter(({ partition, replicas }) => !sameOrder(now.get(partition), replicas))
    .map(
      ({ partition, replicas }) =>
        `${partition} has ${now.get(partition)?.join(',')}, wants ${replicas.join(',')}`,
    ) // prettier-ignore
    .join('; ');
}

function sameOrder(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a?.join() === b.join();
}

function shuffle<T>(random: Random, all: readonly T[]): T[] {
  const left = [...all];
  return all.map(() => left.splice(randomInteger(random, left.length), 1)[0]!);
}
