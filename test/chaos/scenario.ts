/**
 * What a scenario is: faults that are done to a running cluster under load, each of them healed again. The runner owns
 * the cluster, the load, the timeline, the verdict and the report; a scenario only knows its stage.
 */
import type { Client } from '@tributary/client';
import type { Random } from '@tributary/common';
import type { ChaosCluster, Need } from './cluster/chaos-cluster';
import type { ClusterWatch } from './watch/cluster-watch';
import type { Timeline } from './watch/timeline';

export const targets = ['leader', 'controller', 'both'] as const;
export type Target = (typeof targets)[number];
export const cuts = ['peers', 'zookeeper', 'both', 'one-way'] as const;
export type Cut = (typeof cuts)[number];

export interface Scenario {
  readonly name: string;
  /** One line for --help. */
  readonly summary: string;
  readonly needs: readonly Need[];
  /** One round of faults and their healing takes at most so long, given the session timeout. */
  readonly roundSeconds: (sessionSeconds: number) => number;
  /** Failures may reach the application while these faults are on. */
  readonly errorsAllowed: boolean;
  /** What of the command line it heeds. */
  readonly uses?: 'target' | 'cut';
  /** One round. Whatever it broke is healed when it resolves, or by `cluster.heal`. */
  faults(stage: Stage): Promise<void>;
}

export interface Stage {
  readonly cluster: ChaosCluster;
  readonly watch: ClusterWatch;
  readonly timeline: Timeline;
  readonly random: Random;
  /** For questions and commands; the load has clients of its own. */
  readonly client: Client;
  readonly sessionMs: number;
  readonly target: Target;
  readonly cut: Cut;
  /** When the run should end, by the monotonic clock. */
  readonly endsAt: number;
  /** A promise of the cluster was broken in a way that the scenario alone can see. */
  violation(text: string): void;
}
