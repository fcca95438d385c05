/** One follower's attach, as the partition sees it: the leader's side of a replication stream. Called by `Partition`. */
import type { TributaryError } from '@tributary/common';

export interface Attachment {
  readonly brokerId: number;
  /** Of the life that attached. */
  readonly brokerEpoch: number;
  /** Rises within one life of the follower, over all its streams. */
  readonly attachId: number;
  /** For people. */
  readonly progress: AttachProgress;
  /** There is more to push. */
  logMoved(): void;
  highWatermarkMoved(): void;
  logStartMoved(): void;
  /** This attach is over: the follower must attach anew. */
  end(error: TributaryError): void;
}

/** What a follower has of its leader's log, in bytes about. */
export interface AttachProgress {
  /** Acknowledged. */
  readonly logEndOffset: number;
  readonly bytesBehind: number;
  /** Acknowledged in the last seconds. */
  readonly bytesPerSecond: number;
  /** On the throttled stream of those that are far behind. */
  readonly catchingUp: boolean;
}

export type AttachName = Pick<Attachment, 'brokerId' | 'brokerEpoch' | 'attachId'>;

/** Was it sent before one that is here already, on another stream? Then it says nothing of the follower any more. */
export function isOvertaken(attach: AttachName, newest: AttachName | undefined): boolean {
  if (!newest) return false;
  if (newest.brokerEpoch !== attach.brokerEpoch) return newest.brokerEpoch > attach.brokerEpoch;
  return newest.attachId > attach.attachId;
}
