/** Every scenario by its name, in the order of --help. */
import type { Scenario } from '../scenario';
import { clockJump } from './clock-jump';
import { deleteAndRecreate } from './delete-and-recreate';
import { diskFull, slowDisk } from './disks';
import { killAll } from './kill-all';
import { killController, killLeader } from './kill-leader';
import { partitionLeader } from './partition-leader';
import { pauseLeader } from './pause-leader';
import { randomScenario } from './random';
import { reassignUnderLoad } from './reassign-under-load';
import { rollingRestart } from './rolling-restart';
import { zookeeperLeaderKill, zookeeperQuorumLoss } from './zookeeper-down';

const single: readonly Scenario[] = [
  killLeader,
  killController,
  killAll,
  rollingRestart,
  pauseLeader,
  partitionLeader,
  zookeeperLeaderKill,
  zookeeperQuorumLoss,
  diskFull,
  slowDisk,
  clockJump,
  reassignUnderLoad,
  deleteAndRecreate,
];

export const scenarios: readonly Scenario[] = [...single, randomScenario(single)];
