/** What a consumer needs of the way its partitions come to it: through a group, or by hand. */
import type { Deadline } from '@tributary/common';
import type { DecodedRecord } from '@tributary/record';
import type { PartitionCursor } from './partition-cursor';
import type { Reader } from './reader';

export interface OffsetToCommit {
  readonly topic: string;
  readonly partition: number;
  /** Next offset to read. */
  readonly offset: number;
  readonly metadata: string;
}

export interface ReadSession {
  readonly reader: Reader;
  /** undefined: commits need a group. */
  readonly commits: SessionCommits | undefined;
  /** Gives everything back within the time; what is not done then is dropped. Idempotent. */
  close(timeoutMs: number): Promise<void>;
}

export interface SessionCommits {
  consumed(deadline: Deadline): Promise<void>;
  offsets(offsets: readonly OffsetToCommit[], deadline: Deadline): Promise<void>;
  record(cursor: PartitionCursor, record: DecodedRecord, deadline: Deadline): Promise<void>;
}
