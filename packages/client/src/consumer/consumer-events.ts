/**
 * What a consumer tells beside its records. Listeners run in order of registration; those of 'revoked' are
 * awaited before the partition is given back. A listener that throws is logged and disturbs nobody.
 */
import type { Logger, TopicPartition, TributaryError } from '@tributary/common';

export interface ConsumerEvents {
  /** Ours from now on. */
  assigned: { readonly partitions: readonly TopicPartition[] };
  /** About to be given back: still ours while the listener runs, so that it can commit. */
  revoked: { readonly partitions: readonly TopicPartition[] };
  /** Taken away (lease ran out, another owner): nothing of it can be committed any more. */
  lost: { readonly partitions: readonly TopicPartition[] };
  /** The position was out of range, or records read before it are gone (KIP-320): it moved, as `onOutOfRange` says. */
  reset: TopicPartition & { readonly from: bigint; readonly to: bigint };
  /** The topic was deleted and created again: reading starts anew in the new one. */
  recreated: { readonly topic: string; readonly topicId: string };
  /** An automatic commit failed; it is tried again. */
  commitFailed: { readonly error: TributaryError };
}

export type ConsumerEventName = keyof ConsumerEvents;
export type ConsumerListener<N extends ConsumerEventName> = (
  event: ConsumerEvents[N],
) => void | Promise<void>;

/** Listeners of one consumer. */
export const MAX_LISTENERS = 100;

export class ConsumerEmitter {
  private listeners: {
    readonly name: ConsumerEventName;
    readonly call: (event: never) => unknown;
  }[] = [];

  constructor(private readonly logger: Logger) {}

  /** Answers how to stop listening. */
  on<N extends ConsumerEventName>(name: N, listener: ConsumerListener<N>): () => void {
    if (this.listeners.length >= MAX_LISTENERS) {
      this.logger.warn('consumer listener ignored: too many', { maxListeners: MAX_LISTENERS });
      return () => undefined;
    }
    const entry = { name, call: listener };
    this.listeners.push(entry);
    return () => {
      this.listeners = this.listeners.filter((other) => other !== entry);
    };
  }

  /** Resolves when all listeners are done. Never rejects. */
  async emit<N extends ConsumerEventName>(name: N, event: ConsumerEvents[N]): Promise<void> {
    for (const entry of this.listeners.filter((other) => other.name === name)) {
      try {
        await (entry.call as ConsumerListener<N>)(event);
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown.message : String(thrown);
        this.logger.warn('a consumer listener failed', { event: name, error });
      }
    }
  }
}
