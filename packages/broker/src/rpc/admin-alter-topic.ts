/**
 * Admin.AlterTopic on any broker: settings, and more partitions. Passed on to the controller, which decides; answered
 * when this broker's image shows it and every partition has a leader. Called through `adminHandlers`.
 */
import {
  parseTopicConfig,
  topicSettings,
  TributaryError,
  validateTopicName,
} from '@tributary/common';
import type {
  AlterTopicRequest,
  AlterTopicResponse,
  AlterTopicResponseInput,
  CallContext,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import {
  askController,
  commandDeadline,
  untilShown,
  type CommandOptions,
} from './admin-ask-controller';
import { checkReplicas, checkSettingNames, invalid, maxReplicasPerPartition } from './admin-checks';

export async function alterTopic(
  options: CommandOptions,
  request: AlterTopicRequest,
  context: CallContext,
): Promise<AlterTopicResponseInput> {
  check(options, request);
  const deadline = commandDeadline(options, request.timeoutMs, context);
  const had = partitionsNow(options.metadata.image, request);
  const command = { alterTopic: request, command: 'alterTopic' } as const;
  const { alteredTopic } = await askController(options, command, deadline);
  if (!alteredTopic) throw new TributaryError('INTERNAL', 'the controller answered something else');
  if (!request.validateOnly) {
    const shows = (image: MetadataImage): boolean =>
      showsAltered(image, request, alteredTopic, had);
    await untilShown(options, shows, deadline, `topic ${request.topic} was altered`);
  }
  return alteredTopic;
}

function check(options: CommandOptions, request: AlterTopicRequest): void {
  const { topic, setConfigs, removeConfigs, partitions, newAssignments } = request;
  validateTopicName(topic);
  const { maxPartitionsPerTopic } = options.limits;
  if (partitions < 0 || partitions > maxPartitionsPerTopic) {
    const message = `${partitions} partitions, where 1 to ${maxPartitionsPerTopic} are possible`;
    throw new TributaryError('INVALID_PARTITIONS', message, { outcome: 'not written' });
  }
  if (partitions === 0 && newAssignments.length > 0) {
    throw invalid(
      'replicas of new partitions without a count of partitions',
      'Say how many partitions there shall be in all.',
    );
  }
  newAssignments.forEach(({ replicas }, index) =>
    checkReplicas(replicas, `new partition ${index + 1} of topic ${topic}`),
  );
  checkSettingNames(setConfigs, removeConfigs);
  if (partitions === 0 && Object.keys(setConfigs).length + removeConfigs.length === 0) {
    throw invalid(
      `nothing of topic ${topic} would change`,
      'Name a setting or a count of partitions.',
    );
  }
  // How many replicas there are is the controller's to know.
  parseTopicConfig(setConfigs, maxReplicasPerPartition);
  for (const name of removeConfigs) {
    if (Object.hasOwn(topicSettings, name)) continue;
    throw new TributaryError('INVALID_CONFIG', `topic setting ${name} does not exist`, {
      hint: `The settings are: ${Object.keys(topicSettings).join(', ')}.`,
      outcome: 'not written',
    });
  }
}

function partitionsNow(image: MetadataImage, { topic, topicId }: AlterTopicRequest): number {
  const id = topicId || image.topicByName(topic)?.topicId;
  return id === undefined ? 0 : image.partitions(id).length;
}

/** The settings that were asked for, and a leader of each new partition: an old one may be without. */
function showsAltered(
  image: MetadataImage,
  { setConfigs, removeConfigs }: AlterTopicRequest,
  { topicId, configs, partitions }: AlterTopicResponse,
  had: number,
): boolean {
  const topic = image.topicById(topicId);
  if (!topic) return false;
  const states = image.partitions(topicId);
  if (states.length < partitions || states.slice(had).some(({ leader }) => leader < 0))
    return false;
  const names = [...Object.keys(setConfigs), ...removeConfigs];
  return names.every((name) => topic.configs[name] === configs[name]);
}
