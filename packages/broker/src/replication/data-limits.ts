/**
 * The numbers of the data plane, each with its unit. Server configuration overrides single ones; tests and
 * the simulation mostly use the defaults.
 */
import { MAX_FUTURE_MS } from '@tributary/record';

export interface DataLimits {
  /** A follower that was not caught up for so long leaves the ISR. */
  readonly replicaLagTimeMaxMs: number;
  /** How often lagging followers are looked for, and lost questions asked again. */
  readonly tickMs: number;
  readonly highWatermarkCheckpointMs: number;

  // Replication
  /** How often an idle partition's followers get a mark. */
  readonly markIntervalMs: number;
  /** HW moves without data are gathered for so long. */
  readonly highWatermarkDelayMs: number;
  readonly maxMarksPerMessage: number;
  readonly maxPushBytes: number;
  /** Per attach: pushed and not yet acknowledged. */
  readonly attachCreditBytes: number;
  /** A follower outside the ISR that is further behind moves to the catch-up stream. */
  readonly catchUpFromBytes: number;
  /** One on the catch-up stream that is closer moves back; no more than `catchUpFromBytes`. */
  readonly catchUpUntilBytes: number;
  /** On a catch-up stream, instead of the two above: each push is short, so that what is urgent comes between. */
  readonly catchUpPushBytes: number;
  readonly catchUpCreditBytes: number;
  /**
   * What this broker pushes to all that catch up from it, and again what it takes in. undefined: a rate of its own finding,
   * see CatchUpThrottle.
   */
  readonly catchUpBytesPerSecond: number | undefined;
  /** Pushes of one stream that are read from the disk, or were and wait for their turn. */
  readonly maxColdPushes: number;
  /** A dialled leader must have answered the hello, and an attach, within this time. */
  readonly replicationHelloTimeoutMs: number;
  /** First wait before a broken stream or a refused attach is tried again. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;

  // Produce
  /** Batches that may be unanswered, per stream. */
  readonly produceCreditBytes: number;
  /** Batches that may be unanswered, on this broker. */
  readonly maxInFlightBytes: number;
  /** acks=all answers that may be owed, on this broker. */
  readonly maxWaiters: number;
  readonly maxRecordsPerBatch: number;
  /** What the records of one batch may have, decompressed. */
  readonly maxInflatedBatchBytes: number;
  /** How far a batch's maxTimestamp may lie in the future. */
  readonly maxFutureMs: number;
  readonly maxStructuredBytes: number;
  readonly maxPartitionsPerRequest: number;
  readonly maxProduceTimeoutMs: number;
  /** Where a request names none. */
  readonly defaultProduceTimeoutMs: number;
  /** What clients are told to keep a produce request below; one batch may be more. */
  readonly maxRequestBytes: number;

  // Fetch
  readonly maxInFlightFetches: number;
  readonly maxFetchBytes: number;
  readonly maxFetchWaitMs: number;
  /** Of stored batches, for a fetch of decoded records. */
  readonly maxStructuredFetchBytes: number;
  /** Where a request names no limit for a partition. */
  readonly defaultPartitionFetchBytes: number;
  /** A client that says no hello within this time is cut. */
  readonly clientHelloTimeoutMs: number;
}

export const defaultDataLimits: DataLimits = {
  replicaLagTimeMaxMs: 10_000,
  tickMs: 500,
  highWatermarkCheckpointMs: 5_000,
  markIntervalMs: 500,
  highWatermarkDelayMs: 5,
  maxMarksPerMessage: 1_000,
  maxPushBytes: 1024 * 1024,
  attachCreditBytes: 4 * 1024 * 1024,
  catchUpFromBytes: 16 * 1024 * 1024,
  catchUpUntilBytes: 2 * 1024 * 1024,
  catchUpPushBytes: 128 * 1024,
  catchUpCreditBytes: 512 * 1024,
  maxColdPushes: 4,
  catchUpBytesPerSecond: undefined,
  replicationHelloTimeoutMs: 5_000,
  firstRetryMs: 50,
  maxRetryMs: 1_000,
  produceCreditBytes: 16 * 1024 * 1024,
  maxInFlightBytes: 256 * 1024 * 1024,
  maxWaiters: 100_000,
  maxRecordsPerBatch: 1_000_000,
  maxInflatedBatchBytes: 64 * 1024 * 1024,
  maxFutureMs: MAX_FUTURE_MS,
  maxStructuredBytes: 1024 * 1024,
  maxPartitionsPerRequest: 10_000,
  maxProduceTimeoutMs: 120_000,
  defaultProduceTimeoutMs: 30_000,
  maxRequestBytes: 8 * 1024 * 1024,
  maxInFlightFetches: 8,
  maxFetchBytes: 8 * 1024 * 1024,
  maxFetchWaitMs: 30_000,
  maxStructuredFetchBytes: 1024 * 1024,
  defaultPartitionFetchBytes: 1024 * 1024,
  clientHelloTimeoutMs: 10_000,
};
