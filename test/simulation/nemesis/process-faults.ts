/** What happens to processes and machines: death, loss of power, SIGSTOP, orderly restarts, clocks that jump. */
import type { FaultInForce, FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

export const processFaults: readonly FaultKind[] = [
  {
    name: 'process-crash',
    weight: 12,
    start(world) {
      const victim = world.victim();
      return victim === undefined ? undefined : crash(world, [victim], false);
    },
  },
  {
    name: 'machine-crash',
    weight: 14,
    start(world) {
      const victim = world.victim();
      if (victim === undefined || !world.mayLosePower(victim)) return undefined;
      return crash(world, [victim], true);
    },
  },
  {
    name: 'all-processes-crash',
    weight: 2,
    start: (world) => crash(world, world.runningBrokers(), false),
  },
  {
    name: 'all-machines-crash',
    weight: 3,
    start: (world) =>
      world.parts.plan.allSync ? crash(world, world.runningBrokers(), true) : undefined,
  },
  {
    name: 'pause',
    weight: 10,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      world.broker(victim).pause();
      return {
        text: `broker ${victim} is stopped`,
        lastsMs: world.between(100, world.chance(0.5) ? 2_000 : 9_000),
        end: () => world.broker(victim).resume(),
      };
    },
  },
  {
    name: 'orderly-restart',
    weight: 4,
    start(world) {
      const victim = world.victim();
      if (victim === undefined || !world.broker(victim).ready) return undefined;
      const { supervisor } = world.parts;
      supervisor.hold(victim);
      void world.broker(victim).stop();
      return {
        text: `broker ${victim} stops in order`,
        lastsMs: world.between(500, 4_500),
        end: () => supervisor.release(victim),
      };
    },
  },
  {
    name: 'clock-jump',
    weight: 2,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      const byMs = Math.round(world.between(-600_000, 600_000));
      world.broker(victim).jumpWallTime(byMs);
      return { text: `the wall clock of broker ${victim} jumps by ${byMs} ms` };
    },
  },
];

function crash(
  world: FaultWorld,
  victims: readonly number[],
  loseUnsynced: boolean,
): FaultInForce | undefined {
  if (victims.length === 0) return undefined;
  const { supervisor } = world.parts;
  for (const victim of victims) {
    supervisor.hold(victim);
    world.cluster.crash(victim, { loseUnsynced });
  }
  return {
    text: `${victims.length} ${loseUnsynced ? 'lose their power' : 'are killed'}`,
    lastsMs: world.chance(0.3) ? world.between(1, 300) : world.between(300, 5_000),
    end: () => {
      for (const victim of victims) supervisor.release(victim);
    },
  };
}
