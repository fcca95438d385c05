/** Alters a topic through any broker. Called by the admin. */
import { validateTopicName, type Deadline } from '@tributary/common';
import { methods } from '@tributary/protocol';
import type { ClientContext } from '../seams';
import { askAnyBroker } from './any-broker';
import type { AlteredTopic, TopicAlteration } from './cluster-types';
import { brokerTimeout } from './broker-timeout';

export async function alterTopic(
  context: ClientContext,
  topic: string,
  alteration: TopicAlteration & { readonly validateOnly?: boolean },
  deadline: Deadline,
): Promise<AlteredTopic> {
  validateTopicName(topic);
  const { setConfigs, removeConfigs, partitions, newAssignments, validateOnly } = alteration;
  const request = {
    topic,
    setConfigs: { ...setConfigs },
    removeConfigs: [...(removeConfigs ?? [])],
    partitions: partitions ?? 0,
    newAssignments: (newAssignments ?? []).map((replicas) => ({ replicas: [...replicas] })),
    timeoutMs: brokerTimeout(deadline),
    validateOnly: validateOnly ?? false,
  };
  const method = methods.admin.alterTopic;
  const altered = await askAnyBroker(context, method, request, deadline, 'repeatable');
  return {
    topic: altered.topic,
    topicId: altered.topicId,
    configs: altered.configs,
    partitions: altered.partitions,
  };
}
