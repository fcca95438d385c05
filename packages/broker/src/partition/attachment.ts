/** One follower's attach, as the partition sees it: the leader's side of a replication stream. Called by `Partition`. */
import type { TributaryError } from '@tributary/common';

export interface Attachment {
  readonly brokerId: number;
  /** There is more to push. */
  logMoved(): void;
  highWatermarkMoved(): void;
  logStartMoved(): void;
  /** This attach is over: the follower must attach anew. */
  end(error: TributaryError): void;
}
