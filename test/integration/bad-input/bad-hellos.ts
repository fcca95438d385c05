/** The five kinds of streams, and the first messages on which each of them must end. */
import type { ErrorCode } from '@tributary/common';
import { clientHello, methods, type BidiMethod, type ClientHelloInput } from '@tributary/protocol';

type AnyStream = BidiMethod<object, unknown, unknown, object>;

export interface StreamKind {
  readonly name: string;
  readonly method: AnyStream;
  /** The first message of the stream with this hello. */
  readonly first: (hello: ClientHelloInput) => object;
  /** A message that would be right later. */
  readonly later: object;
}

// prettier-ignore
export const streamKinds: readonly StreamKind[] = [
  { name: 'Produce', method: methods.broker.produce, first: (hello) => ({ hello }), later: { request: { acks: -1 } } },
  { name: 'Fetch', method: methods.broker.fetch, first: (hello) => ({ hello }), later: { request: {} } },
  { name: 'Member', method: methods.group.member, first: (hello) => ({ hello }), later: { join: { group: 'readers' } } },
  { name: 'Follow', method: methods.replication.follow, first: (hello) => ({ hello }), later: { attach: { topic: 'control' } } },
  { name: 'Session', method: methods.control.session, first: (hello) => ({ hello: { hello: { ...hello, senderBrokerId: 1 }, controllerId: 1, expectedBrokerEpoch: 1 }, controllerEpoch: 1 }), later: { heartbeat: { id: 1 }, controllerEpoch: 1 } },
];

interface BadHello {
  readonly what: string;
  readonly hello: ClientHelloInput;
  readonly code: ErrorCode;
  readonly says: RegExp;
}

const range = (minVersion: number, maxVersion: number): ClientHelloInput => ({
  ...clientHello(),
  minVersion,
  maxVersion,
});

// prettier-ignore
export const badHellos: readonly BadHello[] = [
  { what: 'another cluster', hello: clientHello({ clusterId: 'elsewhere' }), code: 'CLUSTER_MISMATCH', says: /wants cluster elsewhere, broker 1 is of/ },
  { what: 'another broker', hello: clientHello({ brokerId: 2 }), code: 'BROKER_MISMATCH', says: /wants broker 2, here is broker 1/ },
  { what: 'a version range of the future', hello: range(9, 12), code: 'UNSUPPORTED_VERSION', says: /speaks protocol 9 to 12, broker 1 speaks 1 to 1/ },
  { what: 'a version range of the past', hello: range(0, 0), code: 'UNSUPPORTED_VERSION', says: /speaks protocol 0 to 0/ },
  { what: 'a version range upside down', hello: range(5, 1), code: 'UNSUPPORTED_VERSION', says: /speaks protocol 5 to 1/ },
];
