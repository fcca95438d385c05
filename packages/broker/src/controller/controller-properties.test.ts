/**
 * Any order of events: brokers that crash, bounce, lose power or their session, controllers that change, writes that are
 * lost, replicas that are moved. What must always hold of what the controller writes is judged in the fixture; here it is
 * driven, and at the end all faults are over.
 */
import { seededRandom } from '@tributary/common';
import { ControllerWorld } from './controller-world.fixture';
import { sameSet } from './replica-move';

const brokers = [1, 2, 3, 4];
const assignment = [
  [1, 2, 3],
  [2, 3, 4],
  [3, 1],
];

function run(seed: number): ControllerWorld {
  const random = seededRandom(seed);
  const below = (count: number): number => Math.floor(random.next() * count);
  const world = new ControllerWorld(random, brokers.length, assignment);
  const actions: readonly [number, () => void][] = [
    [2, () => world.crash(1 + below(4), 'process')],
    [2, () => world.crash(1 + below(4), 'machine')],
    [1, () => world.crash(1 + below(4), 'clean')],
    [1, () => world.expire()],
    [6, () => world.start(1 + below(4))],
    [1, () => world.reregister(1 + below(4))],
    [8, () => world.link(1 + below(4))],
    [1, () => world.link(1 + below(4), false)],
    [20, () => world.writeDone()],
    [1, () => world.disturb(below(3))],
    [4, () => world.updateDone()],
    [2, () => world.move(below(3), someBrokers(below), below(4) === 0)],
    [1, () => world.elect()],
    [20, () => world.produce(below(3))],
    [12, () => world.ask(below(3), 1 + below(4))],
    [12, () => world.askDelivered()],
    [4, () => world.stopDelivered()],
    [1, () => world.timer('deletion-retry')],
    [1, () => world.timer('preferred-leaders')],
    [1, () => world.takeOffice()],
    [1, () => world.endProbations()],
  ];
  const bag = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action));
  for (let turn = 0; turn < 400; turn += 1) bag[below(bag.length)]?.();
  heal(world);
  return world;
}

function someBrokers(below: (count: number) => number): number[] {
  const count = 1 + below(3);
  const rest = [...brokers];
  return Array.from({ length: count }, () => rest.splice(below(rest.length), 1)[0] ?? 1);
}

/** All brokers are up and stay up, and everything that is on its way arrives. */
function heal(world: ControllerWorld): void {
  for (const id of brokers) world.start(id);
  world.registryChanged();
  for (const id of brokers) world.link(id);
  for (let round = 0; round < 60; round += 1) {
    for (let partition = 0; partition < world.partitions; partition += 1) {
      const { isr = [], replicas = [] } = world.store[partition] ?? {};
      const missing = replicas.find((id) => !isr.includes(id));
      if (missing !== undefined) world.ask(partition, missing);
    }
    for (let n = 0; n < 20 && !world.isQuiet; n += 1) {
      world.askDelivered();
      world.writeDone();
      world.updateDone();
      world.stopDelivered();
    }
    world.endProbations();
    world.timer('deletion-retry');
    world.timer('preferred-leaders');
  }
}

function check(world: ControllerWorld): void {
  expect(world.record.reassignments).toBeUndefined();
  expect(world.record.owed).toBeUndefined();
  expect(world.strays()).toEqual([]);
  world.store.forEach((stored, partition) => {
    const replicas = world.record.assignment[partition] ?? [];
    expect(stored?.leader).toBe(replicas[0]);
    expect([...(stored?.isr ?? [])].sort()).toEqual([...replicas].sort());
    expect(stored?.eligibleLeaders).toEqual([]);
    expect(sameSet(stored?.replicas ?? [], replicas)).toBe(true);
  });
}

test('whatever happens: no committed record is lost that somebody has, and in the end all is as it was asked for', () => {
  const sums = { losses: 0, elections: 0, moves: 0, deletions: 0, refusals: 0, owed: 0 };
  for (let seed = 1; seed <= 60; seed += 1) {
    try {
      const world = run(seed);
      check(world);
      for (const name of Object.keys(sums) as (keyof typeof sums)[])
        sums[name] += world.counts[name];
    } catch (thrown) {
      throw new Error(`seed ${seed}`, { cause: thrown });
    }
  }
  // The seeds reach what they are to judge.
  expect(sums.elections).toBeGreaterThan(300);
  expect(sums.moves).toBeGreaterThan(100);
  expect(sums.deletions).toBeGreaterThan(50);
  expect(sums.refusals).toBeGreaterThan(50);
  expect(sums.losses).toBeGreaterThan(2);
  expect(sums.owed).toBeGreaterThan(10);
});
