/**
 * ZooKeeper's error codes as errors of the Coordinator port.
 */
import { TributaryError } from '@tributary/common';
import {
  connectionLost,
  nodeError,
  sessionExpired,
  type NodeErrorCode,
} from '../coordinator-errors';

const nodeErrors: Readonly<Record<number, NodeErrorCode>> = {
  [-101]: 'NO_NODE',
  [-103]: 'BAD_VERSION',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
};

const CONNECTION_LOSS = -4;
const OPERATION_TIMEOUT = -7;
const NO_AUTH = -102;
const NO_CHILDREN_FOR_EPHEMERALS = -108;
const SESSION_EXPIRED = -112;
const SESSION_MOVED = -118;
const QUOTA_EXCEEDED = -125;
const THROTTLED = -127;

/** @param sent the request had been handed to the connection. */
export function fromZooKeeper(
  code: number,
  path: string,
  sent: boolean,
  index?: number,
): TributaryError {
  const known = nodeErrors[code];
  if (known) return nodeError(known, path, index);
  switch (code) {
    case CONNECTION_LOSS:
      return connectionLost(sent);
    case SESSION_EXPIRED:
      return sessionExpired(sent);
    // Refused without being applied: the caller's retry loop sends it again.
    case OPERATION_TIMEOUT:
    case SESSION_MOVED:
    case THROTTLED:
      return connectionLost(false);
    default:
      return new TributaryError('INTERNAL', `ZooKeeper refused ${path}: ${meaning(code)}`, {
        hint: hint(code),
        outcome: 'not written',
        details: index === undefined ? { path, zooKeeperCode: code } : { path, index },
      });
  }
}

function meaning(code: number): string {
  if (code === NO_AUTH) return 'no permission (NO_AUTH)';
  if (code === QUOTA_EXCEEDED) return 'over its quota (QUOTA_EXCEEDED)';
  if (code === NO_CHILDREN_FOR_EPHEMERALS) return 'an ephemeral node has no children';
  return `error ${code}`;
}

function hint(code: number): string | undefined {
  if (code === NO_AUTH)
    return 'Give the cluster a path of its own in ZooKeeper, without foreign ACLs.';
  if (code === QUOTA_EXCEEDED) return 'Raise the quota of that path in ZooKeeper.';
  return undefined;
}
