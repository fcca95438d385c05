/** What the coordinator does to its clients: sessions that end, reads from the past, lost replies, late watches, silence. */
import type { FaultInForce, FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

const ADMIN_MS = 4_000;

/**
 * Another one comes into office while the old one has writes on their way, or does not hear of it: only the fences hold
 * it back.
 */
const controllerDeposed: FaultKind = {
  name: 'controller-deposed',
  weight: 6,
  start(world) {
    const { controllerId } = world.cluster;
    const broker = controllerId === undefined ? undefined : world.broker(controllerId);
    if (!broker || broker.paused || broker.sessionId === undefined) return undefined;
    return world.chance(0.6)
      ? deposedWhileWriting(world, broker.brokerId, broker.sessionId)
      : deposedUnheard(world, broker.brokerId);
  },
};

function deposedUnheard(world: FaultWorld, controllerId: number): FaultInForce {
  const trouble = world.parts.coordinatorTrouble;
  const heal = cutOff(world, controllerId);
  trouble.lateWatchMs = world.between(1_000, 5_000);
  trouble.staleReads = world.between(0, 0.5);
  return {
    text: `broker ${controllerId}, the controller, is cut off from all brokers, and watches are very late`,
    lastsMs: world.between(1_500, 7_000),
    end: () => {
      Object.assign(trouble, { staleReads: 0, lateWatchMs: 0 });
      heal();
    },
  };
}

/** What it was asked to do is decided, its writes crawl, and its streams break. */
function deposedWhileWriting(
  world: FaultWorld,
  controllerId: number,
  sessionId: string,
): FaultInForce {
  const { lateRequests } = world.parts.coordinatorTrouble;
  const lateMs = world.between(500, 4_000);
  lateRequests.set(sessionId, lateMs);
  const admin = world.parts.admin.admin();
  const moves = somethingToDecide(world);
  if (moves.length > 0) {
    admin.reassignPartitions(moves, { timeoutMs: ADMIN_MS }).catch(() => undefined);
  }
  admin.electLeaders({ kind: 'preferred', timeoutMs: ADMIN_MS }).catch(() => undefined);
  let heal = (): void => undefined;
  const timer = world.cluster.clock.setTimer(world.between(5, 300), () => {
    heal = cutOff(world, controllerId);
  });
  return {
    text: `requests of broker ${controllerId}, the controller, take ${Math.round(lateMs)} ms, and it is cut off`,
    lastsMs: world.between(2_000, 6_000),
    end: () => {
      timer.cancel();
      lateRequests.delete(sessionId);
      heal();
    },
  };
}

/** The same replicas of some partitions, another one first. */
function somethingToDecide(world: FaultWorld) {
  return world.parts.model.living().flatMap(({ topic, partition }) => {
    const replicas = [...(topic.assignment[partition] ?? [])];
    if (replicas.length < 2 || world.chance(0.5)) return [];
    return [{ topic: topic.topic, partition, replicas: [...replicas.slice(1), replicas[0]!] }];
  });
}

/** Its connections break, and none comes up again until it is healed. */
function cutOff({ cluster }: FaultWorld, brokerId: number): () => void {
  const name = `broker-${brokerId}`;
  const others = cluster.brokerIds.filter((id) => id !== brokerId).map((id) => `broker-${id}`);
  for (const other of others) {
    cluster.network.reset(name, other);
    cluster.network.partition(name, other);
  }
  return () => {
    for (const other of others) cluster.network.heal(name, other);
  };
}

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
  controllerDeposed,
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
