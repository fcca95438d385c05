/** The Admin service, as every broker serves it. Called by Broker. */
import { methods, unaryHandler, type Handler } from '@tributary/protocol';
import { alterBroker } from './admin-alter-broker';
import { alterTopic } from './admin-alter-topic';
import type { CommandOptions } from './admin-ask-controller';
import { createTopic, type TopicAdminOptions } from './admin-create-topic';
import { deleteTopic } from './admin-delete-topic';
import { describeBrokers, type DescribeBrokersOptions } from './admin-describe-brokers';
import { describeCluster, type DescribeClusterOptions } from './admin-describe-cluster';
import { electLeaders } from './admin-elect-leaders';
import { listDecisions, type ListDecisionsOptions } from './admin-list-decisions';
import { reassignPartitions } from './admin-reassign-partitions';

export type AdminOptions = TopicAdminOptions &
  CommandOptions &
  DescribeClusterOptions &
  DescribeBrokersOptions &
  ListDecisionsOptions;

export function adminHandlers(options: AdminOptions): Handler[] {
  const { admin } = methods;
  return [
    unaryHandler(admin.createTopic, (request, context) => createTopic(options, request, context)),
    unaryHandler(admin.deleteTopic, (request, context) => deleteTopic(options, request, context)),
    unaryHandler(admin.describeCluster, async (request, context) =>
      describeCluster(options, request, context),
    ),
    unaryHandler(admin.alterTopic, (request, context) => alterTopic(options, request, context)),
    unaryHandler(admin.reassignPartitions, (request, context) =>
      reassignPartitions(options, request, context),
    ),
    unaryHandler(admin.electLeaders, (request, context) => electLeaders(options, request, context)),
    unaryHandler(admin.alterBroker, (request, context) => alterBroker(options, request, context)),
    unaryHandler(admin.describeBrokers, (request, context) =>
      describeBrokers(options, request, context),
    ),
    unaryHandler(admin.listDecisions, async (request) => listDecisions(options, request)),
  ];
}
