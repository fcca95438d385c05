/**
 * The numbers of the control plane, each with its unit. Server configuration overrides single ones; tests
 * and the simulation use the defaults.
 */
export interface ControlLimits {
  /** A new controller elects away from a leader whose stream is not up only after this long. */
  readonly controlStreamGraceMs: number;
  readonly heartbeatIntervalMs: number;
  /** Silence on a control stream after which a broker may not lead any more. */
  readonly heartbeatTimeoutMs: number;
  /** A dialled broker must have answered the hello within this time. */
  readonly helloTimeoutMs: number;
  /** A hello for a registration that this broker does not know of yet is held for so long. */
  readonly earlyHelloMs: number;
  /** Longest wait between two dials of a broker that cannot be reached. */
  readonly redialMaxMs: number;
  /** acks 0 and 1 are refused once coordinator and controller have been silent this long. */
  readonly zombieGraceMs: number;
  /** An AlterPartition request unanswered for so long is reported as TIMEOUT: unknown. */
  readonly alterPartitionTimeoutMs: number;
  /** How long a graceful stop waits for leaderships to be handed over. */
  readonly controlledShutdownMs: number;
  /** Upper bound of the random delay before trying to become controller. */
  readonly electionDelayMs: number;
  /** How long a dial of a lost controller, or a question to another broker about it, may take. */
  readonly lossProbeTimeoutMs: number;
  /** Each registered broker with a lower id lets this one wait so long before a pre-emption, and once more by chance: against duels. */
  readonly preemptionDelayMs: number;
  /** Longest wait between two looks at a controller that is neither heard nor confirmed lost. */
  readonly preemptionRetryMaxMs: number;
  /** A controller that resigned without stopping lets the others go first for so long. */
  readonly resignPauseMs: number;
  /** A broker that failed once must be stable for so long before it leads where another can; doubled by each failure. */
  readonly probationMs: number;
  readonly probationMaxMs: number;
  /** A suspect that was stable for so long after its probation is as good as new. */
  readonly suspicionMemoryMs: number;
  /** Replicas that did not confirm their deletion are told again after this long. */
  readonly deletionRetryMs: number;
  /** Partitions whose replicas are moved at once; the others wait, as stored. */
  readonly maxMovesAtOnce: number;
  /** How long the preferred leader must have been ready, at least, before it gets its partitions back by itself. */
  readonly preferredLeaderDelayMs: number;
  /** Partitions that go back to their preferred leaders at once. */
  readonly maxPreferredMovesAtOnce: number;
  /** Between two such lots. */
  readonly preferredLeaderPauseMs: number;
  /** Time for the first contact with the coordinator at start. */
  readonly coordinatorReadyMs: number;
  readonly maxPartitionsPerTopic: number;
  readonly defaultPartitions: number;
  /** Lowered to the count of brokers where there are fewer. */
  readonly defaultReplicationFactor: number;
  /** For admin requests that name no timeout. */
  readonly defaultAdminTimeoutMs: number;
}

export const defaultControlLimits: ControlLimits = {
  controlStreamGraceMs: 1_500,
  heartbeatIntervalMs: 500,
  heartbeatTimeoutMs: 3_000,
  helloTimeoutMs: 2_000,
  earlyHelloMs: 500,
  redialMaxMs: 500,
  zombieGraceMs: 10_000,
  alterPartitionTimeoutMs: 5_000,
  controlledShutdownMs: 1_500,
  electionDelayMs: 50,
  lossProbeTimeoutMs: 500,
  preemptionDelayMs: 30,
  preemptionRetryMaxMs: 1_000,
  resignPauseMs: 1_000,
  probationMs: 1_000,
  probationMaxMs: 60_000,
  suspicionMemoryMs: 300_000,
  deletionRetryMs: 2_000,
  maxMovesAtOnce: 16,
  preferredLeaderDelayMs: 15_000,
  maxPreferredMovesAtOnce: 100,
  preferredLeaderPauseMs: 500,
  coordinatorReadyMs: 15_000,
  maxPartitionsPerTopic: 1_000,
  defaultPartitions: 1,
  defaultReplicationFactor: 3,
  defaultAdminTimeoutMs: 30_000,
};
