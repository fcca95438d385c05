/** The numbers of ControlLimits that the controller's pure step goes by. */
import type { ControlLimits } from '../control-limits';

export type StepSettings = Pick<
  ControlLimits,
  | 'controlStreamGraceMs'
  | 'deletionRetryMs'
  | 'probationMs'
  | 'probationMaxMs'
  | 'suspicionMemoryMs'
  | 'maxPartitionsPerTopic'
  | 'maxMovesAtOnce'
  | 'preferredLeaderDelayMs'
  | 'preferredLeaderPauseMs'
  | 'maxPreferredMovesAtOnce'
>;
