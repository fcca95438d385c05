/** What may happen to a log, at random: the actions of its model test, and the settings that change under it. */
import { defaultTopicConfig, type TopicConfig } from '@tributary/common';
import * as fc from 'fast-check';

export type Action =
  | {
      readonly do: 'append';
      readonly records: number;
      readonly size: number;
      /** -1: none. */
      readonly producer: number;
    }
  | {
      readonly do: 'replicate';
      readonly batches: number;
      readonly size: number;
      readonly gap: number;
      /** Of the epochs that it may be of. */
      readonly epochShare: number;
      readonly producer: number;
    }
  | { readonly do: 'truncate' | 'restart'; readonly share: number; readonly settles: boolean }
  | { readonly do: 'announce' | 'commit'; readonly share: number }
  | { readonly do: 'trim'; readonly share: number; readonly stores: boolean }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'configure'; readonly change: Partial<TopicConfig> }
  | { readonly do: 'reopen'; readonly clean: boolean }
  /** In the middle of something: see `ModelRun`. */
  | {
      readonly do: 'crash';
      readonly losesPower: boolean;
      readonly appends: number;
      readonly maintains: boolean;
      readonly steps: number;
    }
  | { readonly do: 'lead' | 'retry' | 'maintain' | 'flush' };

export const DELETE_RETENTION_MS = 60_000;

export const modelConfig: TopicConfig = {
  ...defaultTopicConfig,
  segmentBytes: 2_000,
  maxMessageBytes: 10_000,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: DELETE_RETENTION_MS,
};

const share = fc.nat(1_000).map((thousandths) => thousandths / 1_000);
const producer = fc.constantFrom(-1, -1, 0, 1, 2);
const size = fc.constantFrom(0, 20, 120, 500);

const change: fc.Arbitrary<Partial<TopicConfig>> = fc.oneof(
  fc.record({ segmentBytes: fc.constantFrom(500, 2_000, 8_000) }),
  fc.record({ segmentMs: fc.constantFrom(20_000, 604_800_000) }),
  fc.record({ segmentIndexBytes: fc.constantFrom(12, 10_485_760) }),
  fc.record({ retentionMs: fc.constantFrom(-1, 60_000, 300_000) }),
  fc.record({ retentionBytes: fc.constantFrom(-1, 0, 3_000) }),
  fc.record({ flush: fc.constantFrom('os' as const, 'sync' as const) }),
  fc.record({
    cleanupPolicy: fc.constantFrom(
      'delete' as const,
      'compact' as const,
      'compact,delete' as const,
    ),
  }),
);

const weighted: fc.WeightedArbitrary<Action>[] = [
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      records: fc.integer({ min: 1, max: 4 }),
      size,
      producer,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('replicate' as const),
      batches: fc.integer({ min: 1, max: 4 }),
      size,
      gap: fc.constantFrom(0, 0, 0, 1, 7),
      epochShare: share,
      producer,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('truncate' as const), share, settles: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('restart' as const), share, settles: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('announce', 'commit', 'commit'), share }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('trim' as const), share, stores: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 300, 6_000, 40_000, 120_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('configure' as const), change }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reopen' as const), clean: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      losesPower: fc.boolean(),
      appends: fc.constantFrom(0, 0, 1, 3),
      maintains: fc.boolean(),
      steps: fc.nat(60),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('lead', 'retry', 'maintain', 'flush') }),
  },
];

export const action: fc.Arbitrary<Action> = fc.oneof(...weighted);
