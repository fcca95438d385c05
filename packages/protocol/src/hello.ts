/**
 * The first message of every stream, in both directions: it settles the protocol version and features, and
 * refuses the wrong cluster or broker before anything else is said. Invariant: the version chosen lies in
 * both ranges. Called by every dialer (clientHello, checkServerHello) and every acceptor (answerHello).
 */
import { TributaryError } from '@tributary/common';
import type { ClientHello, ClientHelloInput, ServerHello, ServerHelloInput } from './generated';

/** The version that this build speaks best, and the oldest that it still speaks. */
export const PROTOCOL_VERSION = 1;
export const PROTOCOL_VERSION_MIN = 1;

export interface Dialer {
  /** Whom the acceptor may name in its logs and quotas. */
  readonly clientId?: string;
  /** name/version. */
  readonly software?: string;
  readonly features?: readonly string[];
  /** Empty: any cluster. */
  readonly clusterId?: string;
  /** The broker that should answer; -1: any. */
  readonly brokerId?: number;
  /** The dialer's own id and epoch, when it is a broker. */
  readonly senderBrokerId?: number;
  readonly brokerEpoch?: number;
}

export interface Acceptor {
  readonly clusterId: string;
  readonly brokerId: number;
  /** 0 while it is not registered. */
  readonly brokerEpoch: number;
  readonly features: readonly string[];
  readonly creditBytes: number;
  readonly maxInFlightRequests: number;
  readonly maxRequestBytes: number;
}

export function clientHello(dialer: Dialer = {}): ClientHelloInput {
  const { clientId = '', software = 'tributary', features = [], clusterId = '' } = dialer;
  const { brokerId = -1, senderBrokerId = -1, brokerEpoch = 0 } = dialer;
  return {
    minVersion: PROTOCOL_VERSION_MIN,
    maxVersion: PROTOCOL_VERSION,
    features: [...features],
    clientId,
    software,
    clusterId,
    brokerId,
    senderBrokerId,
    brokerEpoch,
  };
}

/** Throws UNSUPPORTED_VERSION, CLUSTER_MISMATCH or BROKER_MISMATCH: cut the stream with it. */
export function answerHello(hello: ClientHello, self: Acceptor): ServerHelloInput {
  const version = Math.min(hello.maxVersion, PROTOCOL_VERSION);
  if (version < Math.max(hello.minVersion, PROTOCOL_VERSION_MIN)) {
    throw new TributaryError(
      'UNSUPPORTED_VERSION',
      `the dialer speaks protocol ${hello.minVersion} to ${hello.maxVersion}, broker ${self.brokerId} ` +
        `speaks ${PROTOCOL_VERSION_MIN} to ${PROTOCOL_VERSION}`,
    );
  }
  if (hello.clusterId !== '' && hello.clusterId !== self.clusterId) {
    throw new TributaryError(
      'CLUSTER_MISMATCH',
      `the dialer wants cluster ${hello.clusterId}, broker ${self.brokerId} is of ${self.clusterId}`,
    );
  }
  if (hello.brokerId !== -1 && hello.brokerId !== self.brokerId) {
    throw new TributaryError(
      'BROKER_MISMATCH',
      `the dialer wants broker ${hello.brokerId}, here is broker ${self.brokerId}`,
    );
  }
  return {
    version,
    features: self.features.filter((feature) => hello.features.includes(feature)),
    clusterId: self.clusterId,
    brokerId: self.brokerId,
    brokerEpoch: self.brokerEpoch,
    creditBytes: self.creditBytes,
    maxInFlightRequests: self.maxInFlightRequests,
    maxRequestBytes: self.maxRequestBytes,
  };
}

/** For the dialer: the answer must lie in its own range. Throws UNSUPPORTED_VERSION. */
export function checkServerHello(answer: ServerHello): ServerHello {
  if (answer.version < PROTOCOL_VERSION_MIN || answer.version > PROTOCOL_VERSION) {
    throw new TributaryError(
      'UNSUPPORTED_VERSION',
      `broker ${answer.brokerId} chose protocol ${answer.version}, which was not offered`,
    );
  }
  return answer;
}
