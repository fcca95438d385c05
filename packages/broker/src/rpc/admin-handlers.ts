/** The Admin service, as every broker serves it. Called by Broker. */
import { methods, unaryHandler, type Handler } from '@tributary/protocol';
import { createTopic, type TopicAdminOptions } from './admin-create-topic';
import { deleteTopic } from './admin-delete-topic';
import { describeCluster } from './admin-describe-cluster';

export function adminHandlers(
  options: TopicAdminOptions & { readonly clusterId: string },
): Handler[] {
  return [
    unaryHandler(methods.admin.createTopic, (request, context) =>
      createTopic(options, request, context),
    ),
    unaryHandler(methods.admin.deleteTopic, (request, context) =>
      deleteTopic(options, request, context),
    ),
    unaryHandler(methods.admin.describeCluster, async (request, context) =>
      describeCluster(options, request, context),
    ),
  ];
}
