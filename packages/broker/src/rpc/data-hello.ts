/**
 * The server's side of Hello on the data streams: refuses another protocol range, another cluster's client, and
 * one that means another broker. Called by produce, fetch and replication streams before anything else.
 */
import { TributaryError } from '@tributary/common';
import type { ClientHello, ServerHelloInput } from '@tributary/protocol';

export const PROTOCOL_VERSION = 1;

/** What this broker says of itself. */
export type Identity = Pick<ServerHelloInput, 'clusterId' | 'brokerId' | 'brokerEpoch'>;

/** Throws UNSUPPORTED_VERSION, CLUSTER_MISMATCH, BROKER_MISMATCH. */
export function serverHello(hello: ClientHello, identity: Identity): ServerHelloInput {
  if (hello.minVersion > PROTOCOL_VERSION || hello.maxVersion < PROTOCOL_VERSION) {
    throw new TributaryError(
      'UNSUPPORTED_VERSION',
      `the client speaks versions ${hello.minVersion} to ${hello.maxVersion}, this broker ${PROTOCOL_VERSION}`,
    );
  }
  if (hello.clusterId !== '' && hello.clusterId !== identity.clusterId) {
    throw new TributaryError(
      'CLUSTER_MISMATCH',
      `the client belongs to cluster ${hello.clusterId}, this broker to ${identity.clusterId}`,
    );
  }
  if (hello.brokerId >= 0 && hello.brokerId !== identity.brokerId) {
    throw new TributaryError(
      'BROKER_MISMATCH',
      `the client means broker ${hello.brokerId}, this is broker ${identity.brokerId}`,
    );
  }
  return { version: PROTOCOL_VERSION, features: [], ...identity };
}
