/** Offsets of partitions, asked of their leaders. Called by the admin for itself, for topics and for lag. */
import type { Deadline, TributaryError } from '@tributary/common';
import { methods, type ListOffsetsResult } from '@tributary/protocol';
import type { ClientContext } from '../seams';
import type { OffsetQuery } from './admin-types';
import { askLeaders } from './leader-calls';

const ATTEMPT_MS = 3_000;

export interface OffsetsRequest {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly query: OffsetQuery;
}

export type OffsetAnswer = ListOffsetsResult | TributaryError;

const SPECS = {
  earliest: 'EARLIEST',
  latest: 'LATEST',
  'max-timestamp': 'MAX_TIMESTAMP',
} as const;

/** By partition: the answer, or what kept it away until the deadline. Never rejects but for CANCELLED. */
export function lookUpOffsets(
  context: ClientContext,
  { query, ...request }: OffsetsRequest,
  deadline: Deadline,
): Promise<Map<number, OffsetAnswer>> {
  const timestamp = typeof query === 'object' ? query.timestamp : 0;
  const spec = typeof query === 'object' ? 'TIMESTAMP' : SPECS[query];
  const { listOffsets } = methods.broker;
  return askLeaders(
    context,
    {
      ...request,
      doing: 'listing offsets',
      attemptMs: ATTEMPT_MS,
      ask: async (leader, led, options) => {
        const partitions = led.map((one) => ({ ...one, spec, timestamp }) as const);
        return (await leader.call(listOffsets, { partitions }, options)).results;
      },
    },
    deadline,
  );
}
