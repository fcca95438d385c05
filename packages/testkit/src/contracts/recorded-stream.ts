/** A stream that remembers everything that its handlers were told. Called by the transport contract and by tests. */
import type { TributaryError } from '@tributary/common';
import type { MessageStream } from '@tributary/protocol';

export interface RecordedStream<Out, In> {
  readonly stream: MessageStream<Out, In>;
  readonly messages: In[];
  /** Arguments of `onClose`: one, if the contract is kept. */
  readonly closes: (TributaryError | undefined)[];
  ends: number;
  drains: number;
  onMessage?: (message: In) => void;
  onEnd?: () => void;
}

export function recordStream<Out, In>(stream: MessageStream<Out, In>): RecordedStream<Out, In> {
  const record: RecordedStream<Out, In> = { stream, messages: [], closes: [], ends: 0, drains: 0 };
  stream.handle({
    onMessage: (message) => {
      record.messages.push(message);
      record.onMessage?.(message);
    },
    onEnd: () => {
      record.ends += 1;
      record.onEnd?.();
    },
    onDrain: () => {
      record.drains += 1;
    },
    onClose: (error) => record.closes.push(error),
  });
  return record;
}
