/** Commands of tests, with all that they leave out as it is on the wire. Called by the ControllerScript. */
import type {
  AlterBrokerRequest,
  AlterTopicRequest,
  ControllerRequest,
  ElectLeadersRequest,
  ReassignPartitionsRequest,
} from '@tributary/protocol';

/** One of them. */
export interface AskedCommand {
  readonly alterTopic?: Partial<AlterTopicRequest>;
  readonly alterBroker?: Partial<AlterBrokerRequest>;
  readonly reassignPartitions?: Partial<ReassignPartitionsRequest>;
  readonly electLeaders?: Partial<ElectLeadersRequest>;
}

export function controllerRequest(
  command: AskedCommand,
  requestId: number,
  brokerEpoch: number,
): ControllerRequest {
  const { alterTopic, alterBroker, reassignPartitions, electLeaders } = command;
  const request = { requestId, brokerEpoch };
  if (alterTopic) {
    const complete = { ...unchangedTopic, ...alterTopic };
    return { ...request, alterTopic: complete, command: 'alterTopic' };
  }
  if (alterBroker) {
    const complete = { ...unchangedBroker, ...alterBroker };
    return { ...request, alterBroker: complete, command: 'alterBroker' };
  }
  if (reassignPartitions) {
    const complete = { reassignments: [], timeoutMs: 0, ...reassignPartitions };
    return { ...request, reassignPartitions: complete, command: 'reassignPartitions' };
  }
  const all = { kind: 'ELECTION_KIND_PREFERRED' as const, partitions: [], timeoutMs: 0 };
  return { ...request, electLeaders: { ...all, ...electLeaders }, command: 'electLeaders' };
}

const unchangedTopic: AlterTopicRequest = {
  topic: 'orders',
  topicId: '',
  setConfigs: {},
  removeConfigs: [],
  partitions: 0,
  newAssignments: [],
  timeoutMs: 0,
  validateOnly: false,
};

const unchangedBroker: AlterBrokerRequest = {
  brokerId: 1,
  setConfigs: {},
  removeConfigs: [],
  duty: 'BROKER_DUTY_UNSPECIFIED',
  timeoutMs: 0,
};
