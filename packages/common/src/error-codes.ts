/**
 * The closed list of error codes, shared by gRPC status, SDK, CLI exit codes and docs/errors.md.
 * Invariant: names and numbers equal `enum ErrorCode` in proto/tributary/v1/error.proto (tested); a
 * number is never reused. Called by `TributaryError` and by the protocol's error mapping.
 */

/** What a refused or lost request did to the log. */
export type Outcome = 'not written' | 'maybe written' | 'written';

export interface ErrorCodeInfo {
  /** Number on the wire. */
  readonly number: number;
  /** The same call may succeed later, perhaps after refreshing metadata. */
  readonly retriable: boolean;
  /** Name of the gRPC status that unary calls and broken streams carry. */
  readonly grpcStatus: string;
  /** Exit code of `trib` when this is the reason for failing. */
  readonly exitCode: ExitCode;
  /** One sentence for a person: what to do. */
  readonly hint: string;
}

/** 1 failure, 2 usage, 3 not found, 4 exists or precondition, 6 unavailable or timeout, 130 cancelled. */
export type ExitCode = 1 | 2 | 3 | 4 | 6 | 130;

function info(
  number: number,
  grpcStatus: string,
  exitCode: ExitCode,
  retriable: boolean,
  hint: string,
): ErrorCodeInfo {
  return { number, grpcStatus, exitCode, retriable, hint };
}

const FINAL = false;
const RETRIABLE = true;

// prettier-ignore
export const errorCodes = {
  INTERNAL: info(1, 'INTERNAL', 1, FINAL, 'This is a defect: please report it with the log lines around it.'),
  INVALID_ARGUMENT: info(2, 'INVALID_ARGUMENT', 2, FINAL, 'Correct the argument that the message names.'),
  INVALID_CONFIG: info(3, 'INVALID_ARGUMENT', 2, FINAL, 'Correct the setting that the message names.'),
  TIMEOUT: info(4, 'DEADLINE_EXCEEDED', 6, RETRIABLE, 'Try again, or allow more time.'),
  CANCELLED: info(5, 'CANCELLED', 130, FINAL, 'The caller aborted; nothing needs to be done.'),
  CLOSED: info(6, 'CANCELLED', 1, FINAL, 'Create a new client, producer or consumer: this one is closed.'),
  UNAVAILABLE: info(7, 'UNAVAILABLE', 6, RETRIABLE, 'Check that a broker runs at that address and that it can be reached.'),
  OVERLOADED: info(8, 'RESOURCE_EXHAUSTED', 6, RETRIABLE, 'Send less at once, or wait and try again.'),
  UNSUPPORTED_VERSION: info(9, 'FAILED_PRECONDITION', 1, FINAL, 'Upgrade the older side so that the protocol ranges overlap.'),
  CLUSTER_MISMATCH: info(10, 'FAILED_PRECONDITION', 4, FINAL, 'Point to the right cluster, or use another data directory.'),
  BROKER_MISMATCH: info(11, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Refresh the metadata: another broker answers at that address now.'),
  UNRESOLVABLE_ADDRESS: info(12, 'UNAVAILABLE', 6, FINAL, 'Correct the broker setting advertised.listeners, or choose another listener.'),
  ADDRESS_IN_USE: info(13, 'FAILED_PRECONDITION', 4, FINAL, 'Stop the process that holds the port, or choose another port.'),

  UNKNOWN_TOPIC: info(20, 'NOT_FOUND', 3, RETRIABLE, 'Create the topic first: trib topic create TOPIC.'),
  TOPIC_EXISTS: info(21, 'ALREADY_EXISTS', 4, FINAL, 'Choose another name, or delete the topic first.'),
  INVALID_TOPIC: info(
    22,
    'INVALID_ARGUMENT',
    2,
    FINAL,
    'Use 1 to 249 of the characters a-z A-Z 0-9 . _ - (not . or .. alone).',
  ),
  TOPIC_ID_MISMATCH: info(23, 'FAILED_PRECONDITION', 3, RETRIABLE, 'The topic was deleted and created again: refresh the metadata.'),
  UNKNOWN_PARTITION: info(24, 'NOT_FOUND', 3, FINAL, 'Use a partition from 0 to the count of partitions minus one.'),
  INVALID_PARTITIONS: info(25, 'INVALID_ARGUMENT', 2, FINAL, 'Ask for at least 1 partition, within the limit that the message names.'),
  INVALID_REPLICATION_FACTOR: info(26, 'INVALID_ARGUMENT', 2, FINAL, 'Ask for 1 to as many replicas as there are brokers.'),

  NOT_LEADER: info(30, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Refresh the metadata and ask the leader.'),
  FENCED_LEADER_EPOCH: info(31, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Refresh the metadata: a newer leader epoch exists.'),
  UNKNOWN_LEADER_EPOCH: info(32, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Try again: the broker has not heard of that leader epoch yet.'),
  LEADER_NOT_AVAILABLE: info(33, 'UNAVAILABLE', 6, RETRIABLE, 'Wait for an election, or start a broker that holds a complete replica.'),
  NOT_ENOUGH_REPLICAS: info(34, 'UNAVAILABLE', 6, RETRIABLE, 'Start the missing brokers, or lower min.insync.replicas.'),
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: info(35, 'UNAVAILABLE', 6, RETRIABLE, 'Start the missing brokers; an idempotent retry is safe.'),
  OFFSET_OUT_OF_RANGE: info(36, 'OUT_OF_RANGE', 1, FINAL, 'Use an offset between the log start offset and the high watermark.'),
  OFFSET_NOT_AVAILABLE: info(37, 'UNAVAILABLE', 6, RETRIABLE, 'Try again: the new leader does not know the high watermark yet.'),
  FENCED_BROKER_EPOCH: info(38, 'FAILED_PRECONDITION', 6, RETRIABLE, 'The broker was restarted meanwhile: use its new broker epoch.'),
  STALE_CONTROLLER_EPOCH: info(39, 'FAILED_PRECONDITION', 6, FINAL, 'A newer controller exists: this one must resign.'),
  NOT_CONTROLLER: info(40, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Ask the controller that the metadata names.'),
  INVALID_PARTITION_EPOCH: info(41, 'ABORTED', 6, RETRIABLE, 'Re-read the partition state and decide again.'),
  INELIGIBLE_REPLICA: info(42, 'FAILED_PRECONDITION', 6, RETRIABLE, 'Wait until that broker is registered and reachable.'),
  STALE_ATTACH: info(43, 'ABORTED', 6, RETRIABLE, 'Attach again with a fresh attach id.'),
  BROKER_ID_IN_USE: info(44, 'ALREADY_EXISTS', 4, FINAL, 'Stop the other broker, or give this one another broker.id.'),
  UNKNOWN_BROKER: info(45, 'NOT_FOUND', 3, FINAL, 'List the brokers with trib broker list.'),
  LOG_TRUNCATED: info(46, 'DATA_LOSS', 1, FINAL, 'Records that were read are gone: undo what was done with them, then seek to where to go on.'),
  LOSS_NOT_CONFIRMED: info(47, 'FAILED_PRECONDITION', 4, FINAL, 'Repeat it with --yes if that loss is accepted.'),

  KEY_REQUIRED: info(49, 'INVALID_ARGUMENT', 2, FINAL, 'Give every record a key: the topic is compacted by key.'),
  CORRUPT_BATCH: info(50, 'INVALID_ARGUMENT', 1, FINAL, 'Send it again from the source, or read it again: its bytes changed on the way.'),
  INVALID_BATCH: info(51, 'INVALID_ARGUMENT', 2, FINAL, 'Correct the batch encoder: the header does not describe the bytes.'),
  RECORD_TOO_LARGE: info(52, 'INVALID_ARGUMENT', 2, FINAL, 'Send smaller records, or raise max.message.bytes on the topic.'),
  BATCH_TOO_LARGE: info(53, 'INVALID_ARGUMENT', 2, FINAL, 'Send smaller batches, or raise max.message.bytes on the topic.'),
  UNSUPPORTED_CODEC: info(54, 'INVALID_ARGUMENT', 2, FINAL, 'Use one of the codecs that the message lists.'),
  INVALID_TIMESTAMP: info(55, 'INVALID_ARGUMENT', 2, FINAL, 'Correct the clock of the producer.'),
  OUT_OF_ORDER_SEQUENCE: info(56, 'FAILED_PRECONDITION', 1, FINAL, 'Create a new producer: batches before this one are missing.'),
  UNKNOWN_PRODUCER_ID: info(57, 'FAILED_PRECONDITION', 1, FINAL, 'Create a new producer: the broker holds no state for this one.'),
  INVALID_PRODUCER_EPOCH: info(58, 'FAILED_PRECONDITION', 1, FINAL, 'Create a new producer: a newer epoch of this one exists.'),
  UNEXPECTED_OFFSET: info(59, 'ABORTED', 4, FINAL, 'Read the log from that offset and decide again.'),

  STORAGE_ERROR: info(60, 'UNAVAILABLE', 6, RETRIABLE, 'Look at the log of the broker that the message names, and at its disk.'),
  DISK_FULL: info(61, 'RESOURCE_EXHAUSTED', 6, RETRIABLE, 'Make room on the disk of the broker that the message names.'),
  DATA_DIR_LOCKED: info(62, 'FAILED_PRECONDITION', 4, FINAL, 'Stop the other broker that uses this data directory, or choose another one.'),
  DATA_DIR_NOT_WRITABLE: info(63, 'FAILED_PRECONDITION', 4, FINAL, 'Give the user of the process write access to the directory.'),
  UNKNOWN_FORMAT: info(64, 'FAILED_PRECONDITION', 4, FINAL, 'Start a version that knows this format.'),
  CORRUPT_LOG: info(65, 'DATA_LOSS', 1, FINAL, 'Let the replica be refilled from its peers; if there is none, see trib partition accept-loss.'),

  COORDINATOR_UNAVAILABLE: info(70, 'UNAVAILABLE', 6, RETRIABLE, 'Check that ZooKeeper runs at that address and has a quorum.'),
  SESSION_EXPIRED: info(71, 'UNAVAILABLE', 6, RETRIABLE, 'A new session is being opened: try again.'),
  NODE_EXISTS: info(72, 'ALREADY_EXISTS', 4, FINAL, 'Read the node and decide again.'),
  NO_NODE: info(73, 'NOT_FOUND', 3, FINAL, 'Create the node first.'),
  BAD_VERSION: info(74, 'ABORTED', 4, FINAL, 'Somebody else wrote first: re-read and decide again.'),
  NOT_EMPTY: info(75, 'FAILED_PRECONDITION', 4, FINAL, 'Remove the children first.'),

  UNKNOWN_MEMBER: info(80, 'FAILED_PRECONDITION', 4, RETRIABLE, 'Join the group again: its lease of this member ran out.'),
  FENCED_OWNER: info(81, 'FAILED_PRECONDITION', 4, FINAL, 'The partition has another owner now: drop what was not committed.'),
  STALE_GENERATION: info(82, 'ABORTED', 4, RETRIABLE, 'Read the group again: its assignment changed.'),
  DESERIALIZATION_FAILED: info(83, 'INVALID_ARGUMENT', 1, FINAL, 'Skip the record, or correct the deserializer.'),
  UNKNOWN_GROUP: info(84, 'NOT_FOUND', 3, FINAL, 'List the groups with trib group list.'),
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof errorCodes;

const byNumber = new Map<number, ErrorCode>(
  (Object.keys(errorCodes) as ErrorCode[]).map((code) => [errorCodes[code].number, code]),
);

/** The code with this wire number; INTERNAL for a number that this version does not know. */
export function errorCodeFromNumber(number: number): ErrorCode {
  return byNumber.get(number) ?? 'INTERNAL';
}

export function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(errorCodes, name);
}
