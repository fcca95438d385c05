/** The handlers of the data plane, as a broker's listeners serve them. Called by the broker's composition. */
import type { Handler } from '@tributary/protocol';
import type { DataHost } from './data-host';
import { acceptLossHandler, type LossHost } from './accept-loss-handler';
import { deleteRecordsHandler } from './delete-records-handler';
import { describeReplicasHandler } from './describe-replicas-handler';
import { fetchHandlers } from './fetch-handler';
import { listOffsetsHandler } from './list-offsets-handler';
import { produceHandlers } from './produce-handler';

/** Produce, ProduceOnce, Fetch, FetchOnce, ListOffsets, DeleteRecords, DescribeReplicas, Follow, CatchUp, AcceptLoss. */
export function dataHandlers(
  replicas: DataHost & LossHost & { readonly followHandlers: readonly Handler[] },
): readonly Handler[] {
  return [
    ...produceHandlers(replicas),
    ...fetchHandlers(replicas),
    listOffsetsHandler(replicas),
    deleteRecordsHandler(replicas),
    describeReplicasHandler(replicas),
    ...replicas.followHandlers,
    acceptLossHandler(replicas),
  ];
}
