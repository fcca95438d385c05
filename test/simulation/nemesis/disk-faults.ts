/** What disks do: errors on single operations, no room, slow syncs. */
import type { DiskOperation } from '@tributary/testkit';
import { pick } from '../seed-plan';
import type { FaultKind } from './fault';

const FAILING: readonly DiskOperation[] = ['append', 'writeAt', 'datasync', 'read', 'rename'];

export const diskFaults: readonly FaultKind[] = [
  {
    name: 'disk-error',
    weight: 4,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      const operation = pick(world.random, FAILING);
      // A log whose sync failed is damaged for good: another one must have what is committed.
      if (operation === 'datasync' && !world.mayLoseDisk(victim)) return undefined;
      const { disk } = world.broker(victim);
      disk.failNext(operation, { times: 1 + world.integer(3) });
      return {
        text: `the disk of broker ${victim} fails at ${operation}`,
        lastsMs: world.between(100, operation === 'datasync' ? 500 : 2_000),
        end: () => disk.failNoMore(),
      };
    },
  },
  {
    name: 'disk-full',
    weight: 3,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      const { disk } = world.broker(victim);
      disk.setFull(disk.usedBytes + world.integer(20_000));
      world.parts.supervisor.badDisks.add(victim);
      return {
        text: `the disk of broker ${victim} is full`,
        lastsMs: world.between(300, 5_000),
        end: () => {
          disk.setFull(undefined);
          world.parts.supervisor.badDisks.delete(victim);
        },
      };
    },
  },
  {
    name: 'slow-disk',
    weight: 4,
    start(world) {
      const victim = world.victim();
      if (victim === undefined) return undefined;
      const broker = world.broker(victim);
      broker.syncMs = world.between(200, 4_000);
      return {
        text: `syncs of broker ${victim} take up to ${Math.round(broker.syncMs)} ms`,
        lastsMs: world.between(500, 5_000),
        end: () => (broker.syncMs = world.parts.plan.syncMs),
      };
    },
  },
];
