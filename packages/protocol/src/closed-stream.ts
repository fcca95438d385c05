/**
 * A stream that was never opened, because its connection is closed: it only reports why. Called by connections.
 */
import type { TributaryError } from '@tributary/common';
import type { BidiMethod } from './method';
import { StreamEnd, type StreamSettings } from './stream-end';

export class ClosedStream<Out, In> extends StreamEnd<Out, In> {
  constructor(
    method: Pick<BidiMethod<Out, unknown, unknown, In>, 'up' | 'down'>,
    settings: StreamSettings,
    reason: TributaryError,
  ) {
    super(method.up, method.down, settings);
    this.cut(reason);
  }

  protected override begin(): void {}
  protected override transmit(): void {}
  protected override transmitEnd(): void {}
  protected override transmitCut(): void {}
  protected override setFlowing(): void {}
}
