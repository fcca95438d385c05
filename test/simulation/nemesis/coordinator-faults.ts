/** What the coordinator does to its clients: sessions that end, reads from the past, lost replies, late watches, silence. */
import type { FaultKind } from './fault';

export const coordinatorFaults: readonly FaultKind[] = [
  {
    name: 'session-expiry',
    weight: 6,
    start(world) {
      const victim = world.victim();
      const sessionId = victim === undefined ? undefined : world.broker(victim).sessionId;
      if (sessionId === undefined) return undefined;
      world.cluster.ensemble.expire(sessionId);
      return { text: `the session of broker ${victim} expires` };
    },
  },
  {
    name: 'coordinator-lags',
    weight: 8,
    start(world) {
      const trouble = world.parts.coordinatorTrouble;
      trouble.staleReads = world.between(0, 0.5);
      trouble.lostReplies = world.between(0, 0.1);
      trouble.lateWatchMs = world.between(0, 400);
      return {
        text: 'the coordinator answers from the past, loses replies, and its watches are late',
        lastsMs: world.between(1_000, 6_000),
        end: () => Object.assign(trouble, { staleReads: 0, lostReplies: 0, lateWatchMs: 0 }),
      };
    },
  },
  {
    // It does not hear that another one is in office: only the fences hold it back.
    name: 'controller-deposed',
    weight: 5,
    start(world) {
      const { controllerId } = world.cluster;
      if (controllerId === undefined || world.broker(controllerId).paused) return undefined;
      const name = `broker-${controllerId}`;
      const trouble = world.parts.coordinatorTrouble;
      const others = world.cluster.brokerIds.filter((id) => id !== controllerId);
      for (const id of others) world.cluster.network.partition(name, `broker-${id}`);
      trouble.lateWatchMs = world.between(1_000, 5_000);
      trouble.staleReads = world.between(0, 0.5);
      return {
        text: `${name}, the controller, is cut off from all brokers, and watches are very late`,
        lastsMs: world.between(1_500, 7_000),
        end: () => {
          Object.assign(trouble, { staleReads: 0, lateWatchMs: 0 });
          for (const id of others) world.cluster.network.heal(name, `broker-${id}`);
        },
      };
    },
  },
  {
    name: 'coordinator-away',
    weight: 3,
    start(world) {
      const { ensemble } = world.cluster;
      if (ensemble.isHalted) return undefined;
      ensemble.halt();
      return {
        text: 'the coordinator is away',
        lastsMs: world.between(200, 6_000),
        end: () => ensemble.resume(),
      };
    },
  },
  {
    name: 'coordinator-cut-off',
    weight: 5,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      world.broker(victim).loseCoordinator();
      return {
        text: `broker ${victim} does not reach the coordinator`,
        lastsMs: world.between(200, 8_000),
        end: () => world.broker(victim).findCoordinator(),
      };
    },
  },
];
