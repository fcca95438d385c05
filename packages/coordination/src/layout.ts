/**
 * Every path and every payload of the cluster in the coordinator, in Kafka's shape; fields of our own stand beside
 * Kafka's. Pure: the nouns read and write, this file knows how it looks. Groups are in group/group-layout.ts.
 *
 * Invariant: decode(encode(x)) equals x; a payload that is not understood is UNKNOWN_FORMAT naming its path.
 */
import {
  allBrokers,
  type BrokerDuty,
  type BrokerRegistration,
  type BrokerSettings,
  type CurrentController,
  type DeletionMarker,
  type Endpoint,
  type OwedDeletion,
  type Reassignment,
  type StoredPartitionState,
  type TopicRecord,
} from './nouns';
import { JsonPayload, unreadable } from './json-payload';

export const paths = {
  brokers: '/brokers/ids',
  broker: (brokerId: number) => `/brokers/ids/${brokerId}`,
  topics: '/brokers/topics',
  topic: (topic: string) => `/brokers/topics/${topic}`,
  partitions: (topic: string) => `/brokers/topics/${topic}/partitions`,
  partition: (topic: string, partition: number) =>
    `/brokers/topics/${topic}/partitions/${partition}`,
  partitionState: (topic: string, partition: number) =>
    `/brokers/topics/${topic}/partitions/${partition}/state`,
  controller: '/controller',
  controllerEpoch: '/controller_epoch',
  topicConfigs: '/config/topics',
  topicConfig: (topic: string) => `/config/topics/${topic}`,
  brokerConfigs: '/config/brokers',
  brokerConfig: (brokerId: number) =>
    `/config/brokers/${brokerId === allBrokers ? '<default>' : brokerId}`,
  deletions: '/admin/delete_topics',
  deletion: (topic: string) => `/admin/delete_topics/${topic}`,
  owedDeletions: '/admin/deleted_topics',
  owedDeletion: (brokerId: number, topicId: string) =>
    `/admin/deleted_topics/${brokerId}:${topicId}`,
  cluster: '/cluster',
  clusterId: '/cluster/id',
  producerIdBlock: '/latest_producer_id_block',
} as const;

export function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** `/brokers/ids/ID`, version 5. host and port repeat the first endpoint, as Kafka does for old clients. */
export function encodeBroker(registration: BrokerRegistration, wallTimeMs: number): Buffer {
  const { endpoints, rack, hostname } = registration;
  return encodeJson({
    version: 5,
    host: endpoints[0]?.host ?? '',
    port: endpoints[0]?.port ?? -1,
    endpoints: endpoints.map(
      ({ listener, host, port }) => `${listener}://${bracketed(host)}:${port}`,
    ),
    jmx_port: -1,
    timestamp: String(wallTimeMs),
    ...(rack === undefined ? {} : { rack }),
    listener_security_protocol_map: Object.fromEntries(
      endpoints.map(({ listener }) => [listener, 'PLAINTEXT']),
    ),
    features: {},
    hostname,
  });
}

export function decodeBroker(brokerId: number, data: Buffer): BrokerRegistration {
  const path = paths.broker(brokerId);
  const payload = JsonPayload.parse(path, data, 5);
  return {
    brokerId,
    endpoints: payload.strings('endpoints').map((text) => parseEndpoint(path, text)),
    rack: payload.optionalString('rack'),
    hostname: payload.optionalString('hostname') ?? payload.string('host'),
  };
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function parseEndpoint(path: string, text: string): Endpoint {
  const match = /^([^:]+):\/\/(.+):([0-9]{1,5})$/.exec(text);
  const [, listener, host, port] = match ?? [];
  if (listener === undefined || host === undefined) throw unreadable(path, `endpoint ${text}`);
  return { listener, host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** `/brokers/topics/T`, version 3; who owes a deletion is ours. */
export function encodeTopic(record: TopicRecord): Buffer {
  const { topicId, assignment, owed = new Map<number, readonly number[]>() } = record;
  return encodeJson({
    version: 3,
    topic_id: topicId,
    partitions: Object.fromEntries(assignment.map((replicas, index) => [index, replicas])),
    adding_replicas: moving(record, 'adding'),
    removing_replicas: moving(record, 'removing'),
    ...(owed.size > 0 ? { owed_replicas: Object.fromEntries(owed) } : {}),
  });
}

function moving(record: TopicRecord, which: keyof Reassignment): Record<string, readonly number[]> {
  const moves = [...(record.reassignments ?? [])].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    moves.flatMap(([partition, move]) =>
      move[which].length > 0 ? [[partition, move[which]] as const] : [],
    ),
  );
}

export function decodeTopic(topic: string, data: Buffer): Omit<TopicRecord, 'configs'> {
  const payload = JsonPayload.parse(paths.topic(topic), data, 3);
  const entries = payload.integerListMap('partitions');
  const byPartition = new Map(entries.map(([key, replicas]) => [Number(key), replicas]));
  const assignment = Array.from(
    { length: byPartition.size },
    (_, partition) => byPartition.get(partition) ?? payload.refuse('partitions'),
  );
  const reassignments = new Map<number, Reassignment>();
  for (const which of ['adding', 'removing'] as const) {
    for (const [key, replicas] of payload.integerListMap(`${which}_replicas`)) {
      const none: Reassignment = { adding: [], removing: [] };
      const move = reassignments.get(Number(key)) ?? none;
      reassignments.set(Number(key), { ...move, [which]: replicas });
    }
  }
  const noted = payload.has('owed_replicas') ? payload.integerListMap('owed_replicas') : [];
  const owed = new Map(noted.map(([key, brokerIds]) => [Number(key), brokerIds]));
  return {
    ...{ topic, topicId: payload.string('topic_id'), assignment },
    ...(reassignments.size > 0 ? { reassignments } : {}),
    ...(owed.size > 0 ? { owed } : {}),
  };
}

/** `/config/topics/T`, version 1. */
export function encodeConfig(configs: Readonly<Record<string, string>>): Buffer {
  return encodeJson({ version: 1, config: configs });
}

export function decodeConfig(topic: string, data: Buffer): Record<string, string> {
  return JsonPayload.parse(paths.topicConfig(topic), data, 1).stringMap('config');
}

const dutyNames: Readonly<Record<BrokerDuty, string>> = {
  'in service': 'in_service',
  drained: 'drained',
  decommissioned: 'decommissioned',
};

/** `/config/brokers/ID`, version 1; the duty is ours. */
export function encodeBrokerSettings({ configs, duty }: BrokerSettings): Buffer {
  return encodeJson({ version: 1, config: configs, duty: dutyNames[duty] });
}

export function decodeBrokerSettings(brokerId: number, data: Buffer): BrokerSettings {
  const payload = JsonPayload.parse(paths.brokerConfig(brokerId), data, 1);
  const name = payload.optionalString('duty') ?? dutyNames['in service'];
  const duty = (Object.keys(dutyNames) as BrokerDuty[]).find((each) => dutyNames[each] === name);
  return { brokerId, configs: payload.stringMap('config'), duty: duty ?? payload.refuse('duty') };
}

/** `/admin/delete_topics/T`: Kafka's is empty; ours says which incarnation is meant. */
export function encodeDeletion(marker: DeletionMarker): Buffer {
  return encodeJson({ version: 1, topic_id: marker.topicId });
}

export function decodeDeletion(topic: string, data: Buffer): DeletionMarker {
  const payload = JsonPayload.parse(paths.deletion(topic), data, 1);
  return { topic, topicId: payload.string('topic_id') };
}

/** `/admin/deleted_topics/BROKER:ID`, version 1; ours. */
export function encodeOwedDeletion(owed: OwedDeletion, wallTimeMs: number): Buffer {
  const { topic, topicId, brokerId, partitions } = owed;
  const of = { topic, topic_id: topicId, broker: brokerId, partitions };
  return encodeJson({ version: 1, ...of, deleted_at: wallTimeMs });
}

export function decodeOwedDeletion(
  name: string,
  data: Buffer,
): OwedDeletion & { readonly deletedAt: number } {
  const payload = JsonPayload.parse(`${paths.owedDeletions}/${name}`, data, 1);
  return {
    topic: payload.string('topic'),
    topicId: payload.string('topic_id'),
    brokerId: payload.integer('broker'),
    partitions: payload.integers('partitions'),
    deletedAt: payload.integer('deleted_at'),
  };
}

/** `/brokers/topics/T/partitions/P/state`, version 1. */
export function encodePartitionState(state: StoredPartitionState): Buffer {
  return encodeJson({
    controller_epoch: state.controllerEpoch,
    leader: state.leader,
    version: 1,
    leader_epoch: state.leaderEpoch,
    isr: state.isr,
    eligible_leaders: state.eligibleLeaders,
    topic_id: state.topicId,
    ...(state.replicas ? { replicas: state.replicas } : {}),
    ...(state.seatEpochs ? { seat_epochs: Object.fromEntries(state.seatEpochs) } : {}),
  });
}

export function decodePartitionState(
  topic: string,
  partition: number,
  data: Buffer,
): StoredPartitionState {
  const payload = JsonPayload.parse(paths.partitionState(topic, partition), data, 1);
  const replicas = payload.has('replicas') ? payload.integers('replicas') : undefined;
  const seats = payload.has('seat_epochs') ? payload.integerMap('seat_epochs') : undefined;
  return {
    topic,
    topicId: payload.string('topic_id'),
    partition,
    leader: payload.integer('leader'),
    leaderEpoch: payload.integer('leader_epoch'),
    controllerEpoch: payload.integer('controller_epoch'),
    isr: payload.integers('isr'),
    eligibleLeaders: payload.integers('eligible_leaders'),
    ...(replicas ? { replicas } : {}),
    ...(seats ? { seatEpochs: new Map(seats.map(([id, epoch]) => [Number(id), epoch])) } : {}),
  };
}

export interface ControllerNode extends CurrentController {
  /** One of a kind: tells this attempt to be elected from any other. */
  readonly claim: string;
}

/** `/controller`, version 2. */
export function encodeController(node: ControllerNode, wallTimeMs: number): Buffer {
  return encodeJson({
    version: 2,
    brokerid: node.brokerId,
    timestamp: String(wallTimeMs),
    kraftControllerEpoch: -1,
    controller_epoch: node.controllerEpoch,
    claim: node.claim,
  });
}

export function decodeController(data: Buffer): ControllerNode {
  const payload = JsonPayload.parse(paths.controller, data, 2);
  return {
    brokerId: payload.integer('brokerid'),
    controllerEpoch: payload.integer('controller_epoch'),
    claim: payload.string('claim'),
  };
}

/** `/controller_epoch`: plain digits. */
export function encodeControllerEpoch(epoch: number): Buffer {
  return Buffer.from(String(epoch));
}

export function decodeControllerEpoch(data: Buffer): number {
  const text = data.toString();
  if (!/^[0-9]{1,15}$/.test(text)) throw unreadable(paths.controllerEpoch, 'the number');
  return Number(text);
}

/** `/cluster/id`; Kafka has its version as a string. */
export function encodeClusterId(id: string): Buffer {
  return encodeJson({ version: '1', id });
}

export function decodeClusterId(data: Buffer): string {
  return JsonPayload.parse(paths.clusterId, data, 1).string('id');
}

export interface ProducerIdBlock {
  readonly brokerId: number;
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
  /** One of a kind: two requests of one broker must not take each other's success for their own. */
  readonly claim: string;
}

/** `/latest_producer_id_block`, version 1. */
export function encodeProducerIdBlock(block: ProducerIdBlock): Buffer {
  return encodeJson({
    version: 1,
    broker: block.brokerId,
    block_start: String(block.first),
    block_end: String(block.last),
    claim: block.claim,
  });
}

export function decodeProducerIdBlock(data: Buffer): Omit<ProducerIdBlock, 'claim'> {
  const payload = JsonPayload.parse(paths.producerIdBlock, data, 1);
  return {
    brokerId: payload.integer('broker'),
    first: payload.integer('block_start'),
    last: payload.integer('block_end'),
  };
}
