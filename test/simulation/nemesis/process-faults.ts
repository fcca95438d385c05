/** What happens to processes and machines: death, loss of power, SIGSTOP, orderly restarts, clocks that jump. */
import type { Timer } from '@tributary/common';
import { pick } from '../seed-plan';
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
    // Back before anybody has decided anything, with a shorter log.
    name: 'machine-blink',
    weight: 12,
    start(world) {
      const victim = blinking(world);
      if (!world.runningBrokers().includes(victim) || !world.mayLosePower(victim)) return undefined;
      return world.chance(0.75) ? blinkInMud(world, victim) : { ...crash(world, [victim], true)!, lastsMs: world.between(1, 60) }; // prettier-ignore
    },
  },
  {
    name: 'lag-then-all-crash',
    weight: 5,
    start: (world) => lagThenCrash(world),
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

/**
 * Often a follower without which the HW of a partition stands still: what it had before it lost power reaches as far as
 * the HW when it is back.
 */
function blinking(world: FaultWorld): number {
  const needed = world.parts.model.living().flatMap(({ stored, topic, trueHighWatermark }) => {
    const { flush, minInsyncReplicas } = topic.config;
    if (!stored || flush === 'sync' || trueHighWatermark === 0) return [];
    const isNeeded = stored.isr.length <= minInsyncReplicas;
    return isNeeded ? stored.isr.filter((id) => id !== stored.leader) : [];
  });
  const isAimed = needed.length > 0 && world.chance(0.7);
  return pick(world.random, isAimed ? needed : world.cluster.brokerIds);
}

/** What it says of its shorter log is long on its way, behind what it said before. */
function blinkInMud(world: FaultWorld, victim: number): FaultInForce {
  const { cluster, parts } = world;
  const { maxDelayMs } = parts.plan;
  const slow = { slowShare: world.between(0.4, 0.8), slowMs: world.between(200, 900) };
  cluster.network.setDelay({ minMs: 0.1, maxMs: maxDelayMs, ...slow });
  const { end } = crash(world, [victim], true)!;
  const timer = cluster.clock.setTimer(world.between(1, 60), () => end?.());
  return {
    text: `broker ${victim} loses its power for a moment, and many messages are slow`,
    lastsMs: world.between(800, 2_500),
    end: () => {
      timer.cancel();
      end?.();
      cluster.network.setDelay({ minMs: 0.1, maxMs: maxDelayMs });
    },
  };
}

/** One broker falls behind until it has left the ISRs; then all die, and return one after another, in any order. */
function lagThenCrash(world: FaultWorld): FaultInForce | undefined {
  const { cluster, parts } = world;
  const victim = world.victim();
  if (victim === undefined) return undefined;
  const others = cluster.brokerIds.filter((id) => id !== victim).map((id) => `broker-${id}`);
  for (const other of others) cluster.network.partition(`broker-${victim}`, other);
  const heal = (): void => {
    for (const other of others) cluster.network.heal(`broker-${victim}`, other);
  };
  const lagMs = (parts.plan.dataLimits.replicaLagTimeMaxMs ?? 0) + world.between(500, 2_000);
  const timers: Timer[] = [];
  const later = (ms: number, act: () => void): void =>
    void timers.push(cluster.clock.setTimer(ms, act));
  let ends: (() => void) | undefined;
  later(lagMs, () => {
    heal();
    const dead = world.runningBrokers();
    ends = crash(world, dead, false)?.end;
    for (const id of dead) later(world.between(20, 2_500), () => parts.supervisor.release(id));
  });
  return {
    text: `broker ${victim} falls behind, then all are killed, and return one by one`,
    lastsMs: lagMs + 3_000,
    end: () => {
      for (const timer of timers) timer.cancel();
      heal();
      ends?.();
    },
  };
}

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
