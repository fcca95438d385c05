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
