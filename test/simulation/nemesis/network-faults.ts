/** What a network does: delay, broken connections, silence in both or one direction. */
import type { FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

export const networkFaults: readonly FaultKind[] = [
  {
    name: 'slow-messages',
    weight: 6,
    start(world) {
      const { maxDelayMs } = world.parts.plan;
      const slow = { slowShare: world.between(0.01, 0.15), slowMs: world.between(50, 900) };
      world.cluster.network.setDelay({ minMs: 0.1, maxMs: maxDelayMs, ...slow });
      return {
        text: `some messages take up to ${Math.round(slow.slowMs)} ms`,
        lastsMs: world.between(500, 4_000),
        end: () => world.cluster.network.setDelay({ minMs: 0.1, maxMs: maxDelayMs }),
      };
    },
  },
  {
    name: 'connection-loss',
    weight: 8,
    start(world) {
      const [a, b] = world.pair();
      world.cluster.network.reset(a, b);
      return { text: `connections between ${a} and ${b} break` };
    },
  },
  {
    name: 'partition',
    weight: 8,
    start: (world) => partitioned(world, false),
  },
  {
    name: 'one-way-partition',
    weight: 8,
    start: (world) => partitioned(world, true),
  },
  {
    name: 'isolation',
    weight: 8,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      const name = `broker-${victim}`;
      const others = world.cluster.brokerIds
        .filter((id) => id !== victim)
        .map((id) => `broker-${id}`);
      const oneWay = world.chance(0.3);
      for (const other of others) world.cluster.network.partition(name, other, { oneWay });
      const alsoCoordinator = world.chance(0.4);
      if (alsoCoordinator) world.broker(victim).loseCoordinator();
      return {
        text: `${name} is cut off from all brokers${alsoCoordinator ? ' and the coordinator' : ''}`,
        lastsMs: world.between(300, 7_000),
        end: () => {
          for (const other of others) world.cluster.network.heal(name, other);
          world.broker(victim).findCoordinator();
        },
      };
    },
  },
];

function partitioned(world: FaultWorld, oneWay: boolean): ReturnType<FaultKind['start']> {
  const [a, b] = world.pair();
  const [from, to] = world.chance(0.5) ? [a, b] : [b, a];
  world.cluster.network.partition(from, to, { oneWay });
  return {
    text: oneWay ? `nothing arrives from ${from} at ${to}` : `${from} and ${to} are partitioned`,
    lastsMs: world.between(200, 7_000),
    end: () => world.cluster.network.heal(from, to),
  };
}
