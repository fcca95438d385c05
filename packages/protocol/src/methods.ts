/**
 * Every remote method of Tributary. Adding an RPC: write it in proto/, then add its line here (a test
 * compares this table with the services in proto/).
 */
import type * as M from './generated';
import { codecOf } from './codec';
import type { BidiMethod, UnaryMethod } from './method';

function unary<UpInput, Up, DownInput, Down>(
  path: string,
  up: string,
  down: string,
): UnaryMethod<UpInput, Up, DownInput, Down> {
  return { kind: 'unary', path: `/tributary.v1.${path}`, up: codecOf(up), down: codecOf(down) };
}

function bidi<UpInput, Up, DownInput, Down>(
  path: string,
  up: string,
  down: string,
): BidiMethod<UpInput, Up, DownInput, Down> {
  return { kind: 'bidi', path: `/tributary.v1.${path}`, up: codecOf(up), down: codecOf(down) };
}

// prettier-ignore
export const methods = {
  broker: {
    produce: bidi<M.ProduceUpInput, M.ProduceUp, M.ProduceDownInput, M.ProduceDown>('Broker/Produce', 'ProduceUp', 'ProduceDown'),
    fetch: bidi<M.FetchUpInput, M.FetchUp, M.FetchDownInput, M.FetchDown>('Broker/Fetch', 'FetchUp', 'FetchDown'),
    produceOnce: unary<M.ProduceRequestInput, M.ProduceRequest, M.ProduceResponseInput, M.ProduceResponse>('Broker/ProduceOnce', 'ProduceRequest', 'ProduceResponse'),
    fetchOnce: unary<M.FetchRequestInput, M.FetchRequest, M.FetchResponseInput, M.FetchResponse>('Broker/FetchOnce', 'FetchRequest', 'FetchResponse'),
    listOffsets: unary<M.ListOffsetsRequestInput, M.ListOffsetsRequest, M.ListOffsetsResponseInput, M.ListOffsetsResponse>('Broker/ListOffsets', 'ListOffsetsRequest', 'ListOffsetsResponse'),
    metadata: unary<M.MetadataRequestInput, M.MetadataRequest, M.MetadataResponseInput, M.MetadataResponse>('Broker/Metadata', 'MetadataRequest', 'MetadataResponse'),
    initProducer: unary<M.InitProducerRequestInput, M.InitProducerRequest, M.InitProducerResponseInput, M.InitProducerResponse>('Broker/InitProducer', 'InitProducerRequest', 'InitProducerResponse'),
  },
  replication: {
    follow: bidi<M.FollowUpInput, M.FollowUp, M.FollowDownInput, M.FollowDown>('Replication/Follow', 'FollowUp', 'FollowDown'),
    catchUp: bidi<M.FollowUpInput, M.FollowUp, M.FollowDownInput, M.FollowDown>('Replication/CatchUp', 'FollowUp', 'FollowDown'),
  },
  control: {
    session: bidi<M.ControlDownInput, M.ControlDown, M.ControlUpInput, M.ControlUp>('Control/Session', 'ControlDown', 'ControlUp'),
    confirmLoss: unary<M.ConfirmLossRequestInput, M.ConfirmLossRequest, M.ConfirmLossResponseInput, M.ConfirmLossResponse>('Control/ConfirmLoss', 'ConfirmLossRequest', 'ConfirmLossResponse'),
  },
  admin: {
    createTopic: unary<M.CreateTopicRequestInput, M.CreateTopicRequest, M.CreateTopicResponseInput, M.CreateTopicResponse>('Admin/CreateTopic', 'CreateTopicRequest', 'CreateTopicResponse'),
    deleteTopic: unary<M.DeleteTopicRequestInput, M.DeleteTopicRequest, M.DeleteTopicResponseInput, M.DeleteTopicResponse>('Admin/DeleteTopic', 'DeleteTopicRequest', 'DeleteTopicResponse'),
    describeCluster: unary<M.DescribeClusterRequestInput, M.DescribeClusterRequest, M.DescribeClusterResponseInput, M.DescribeClusterResponse>('Admin/DescribeCluster', 'DescribeClusterRequest', 'DescribeClusterResponse'),
    deleteRecords: unary<M.DeleteRecordsRequestInput, M.DeleteRecordsRequest, M.DeleteRecordsResponseInput, M.DeleteRecordsResponse>('Admin/DeleteRecords', 'DeleteRecordsRequest', 'DeleteRecordsResponse'),
    acceptLoss: unary<M.AcceptLossRequestInput, M.AcceptLossRequest, M.AcceptLossResponseInput, M.AcceptLossResponse>('Admin/AcceptLoss', 'AcceptLossRequest', 'AcceptLossResponse'),
    alterTopic: unary<M.AlterTopicRequestInput, M.AlterTopicRequest, M.AlterTopicResponseInput, M.AlterTopicResponse>('Admin/AlterTopic', 'AlterTopicRequest', 'AlterTopicResponse'),
    reassignPartitions: unary<M.ReassignPartitionsRequestInput, M.ReassignPartitionsRequest, M.ReassignPartitionsResponseInput, M.ReassignPartitionsResponse>('Admin/ReassignPartitions', 'ReassignPartitionsRequest', 'ReassignPartitionsResponse'),
    electLeaders: unary<M.ElectLeadersRequestInput, M.ElectLeadersRequest, M.ElectLeadersResponseInput, M.ElectLeadersResponse>('Admin/ElectLeaders', 'ElectLeadersRequest', 'ElectLeadersResponse'),
    alterBroker: unary<M.AlterBrokerRequestInput, M.AlterBrokerRequest, M.AlterBrokerResponseInput, M.AlterBrokerResponse>('Admin/AlterBroker', 'AlterBrokerRequest', 'AlterBrokerResponse'),
    describeBrokers: unary<M.DescribeBrokersRequestInput, M.DescribeBrokersRequest, M.DescribeBrokersResponseInput, M.DescribeBrokersResponse>('Admin/DescribeBrokers', 'DescribeBrokersRequest', 'DescribeBrokersResponse'),
    describeReplicas: unary<M.DescribeReplicasRequestInput, M.DescribeReplicasRequest, M.DescribeReplicasResponseInput, M.DescribeReplicasResponse>('Admin/DescribeReplicas', 'DescribeReplicasRequest', 'DescribeReplicasResponse'),
    listDecisions: unary<M.ListDecisionsRequestInput, M.ListDecisionsRequest, M.ListDecisionsResponseInput, M.ListDecisionsResponse>('Admin/ListDecisions', 'ListDecisionsRequest', 'ListDecisionsResponse'),
  },
  group: {
    member: bidi<M.MemberUpInput, M.MemberUp, M.MemberDownInput, M.MemberDown>('Group/Member', 'MemberUp', 'MemberDown'),
    fetchOffsets: unary<M.FetchOffsetsRequestInput, M.FetchOffsetsRequest, M.FetchOffsetsResponseInput, M.FetchOffsetsResponse>('Group/FetchOffsets', 'FetchOffsetsRequest', 'FetchOffsetsResponse'),
    commitOffsets: unary<M.CommitOffsetsRequestInput, M.CommitOffsetsRequest, M.CommitOffsetsResponseInput, M.CommitOffsetsResponse>('Group/CommitOffsets', 'CommitOffsetsRequest', 'CommitOffsetsResponse'),
    describeGroup: unary<M.DescribeGroupRequestInput, M.DescribeGroupRequest, M.DescribeGroupResponseInput, M.DescribeGroupResponse>('Group/DescribeGroup', 'DescribeGroupRequest', 'DescribeGroupResponse'),
    listGroups: unary<M.ListGroupsRequestInput, M.ListGroupsRequest, M.ListGroupsResponseInput, M.ListGroupsResponse>('Group/ListGroups', 'ListGroupsRequest', 'ListGroupsResponse'),
  },
} as const;
