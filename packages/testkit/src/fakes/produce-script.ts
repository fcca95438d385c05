/** What a scripted broker sees of a batch, and what a test's script tells it to do with it. */
import type { TributaryError } from '@tributary/common';

export interface ProduceAttempt {
  /** 1, 2, 3 ... over the whole cluster. */
  readonly number: number;
  readonly broker: number;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly acks: number;
  readonly values: readonly string[];
}

export type ScriptStep =
  | { readonly do: 'append'; readonly afterMs?: number }
  | { readonly do: 'refuse'; readonly with: TributaryError }
  | { readonly do: 'cut' | 'append and cut' | 'append in silence' | 'silence' };
