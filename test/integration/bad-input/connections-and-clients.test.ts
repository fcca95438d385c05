/**
 * Whoever connects to a broker and does not speak as it should: bytes that are no HTTP/2, requests that are no gRPC,
 * messages too large or not decodable, streams without a proper hello; then requests about topics and groups that
 * cannot be, and the SDK and the command line used wrongly. Every one gets its reason, and nobody else notices.
 */
import {
  isErrorCode,
  type Random,
  seededRandom,
  silentLogger,
  type TributaryError,
} from '@tributary/common';
import {
  clientHello,
  GrpcTransport,
  methods,
  type BidiMethod,
  type UnaryMethod,
} from '@tributary/protocol';
import { badHellos, streamKinds } from './bad-hellos';
import { BadInputCluster } from './bad-input-cluster';
import { describeMisuseOfClients } from './misuse-of-clients';
import { describeImpossibleGroups, describeImpossibleTopics } from './impossible-administration';
import { grpcFrame, sendBytes, sendHttp2 } from './raw-bytes';
import { expectRefusal, expectRefused, type Refusal } from './refusal';
import { endOfStream, openFetch, sentAsBytes, type FetchSession } from './request-stream';

const timeoutMs = 10_000;
type AnyMethod =
  UnaryMethod<object, object, object, object> | BidiMethod<object, object, object, object>;
const allMethods = Object.values(methods).flatMap((service) => Object.values<AnyMethod>(service));

let house: BadInputCluster;
/** Stands from the beginning to the end, on the connection to broker 1 that everything here goes over. */
let standing: FetchSession;

beforeAll(async () => {
  house = await BadInputCluster.start();
  standing = openFetch(house.connection(1));
}, 90_000);

afterAll(() => house?.stop());

afterEach(async () => {
  await house.expectUnharmed();
  expect(await standing.ask({ partitions: [] })).toEqual([]);
  expect(house.loggedErrors()).toEqual([]);
});

function noiseOf(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => random.next() * 256));
}

describe('bytes on the gRPC port that are no gRPC', () => {
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const noise = noiseOf(50_000, seededRandom(7));
  const frameOf16MiB = Buffer.from([0xff, 0xff, 0xff, 0x00, 0x00, 0, 0, 0, 1]);

  test.each([
    ['noise', noise],
    ['an HTTP/1.1 request', Buffer.from('GET / HTTP/1.1\r\nHost: broker\r\n\r\n')],
    ['the preface of HTTP/2, then noise', Buffer.concat([preface, noise])],
    ['the preface, then a frame over every limit', Buffer.concat([preface, frameOf16MiB])],
  ])('%s: the connection is closed', async (_what, bytes) => {
    expect(await sendBytes(house.cluster.broker(1), bytes)).toBe('closed');
  });

  test('half a preface, and then nothing', async () => {
    await sendBytes(house.cluster.broker(1), preface.subarray(0, 10));
  });

  const grpc = { 'content-type': 'application/grpc' };
  const produceOnce = { ':path': methods.broker.produceOnce.path };

  test.each([
    ['a content type that is not gRPC', { ...produceOnce, 'content-type': 'text/html' }, grpcFrame(Buffer.alloc(0)), { ':status': 415 }],
    ['a method that does not exist', { ...grpc, ':path': '/tributary.v1.Broker/Erase' }, grpcFrame(Buffer.alloc(0)), { 'grpc-status': '12' }],
    ['a message that claims 2 GiB', { ...grpc, ...produceOnce }, grpcFrame(Buffer.alloc(10), 2 ** 31), { 'grpc-status': '8' }],
    ['a message that ends early', { ...grpc, ...produceOnce }, grpcFrame(Buffer.alloc(10), 20), { 'grpc-status': expect.stringMatching(/^[1-9]/) }],
    ['no message', { ...grpc, ...produceOnce }, Buffer.alloc(0), { 'grpc-status': expect.stringMatching(/^[1-9]/) }],
    ['a message compressed in an unknown way', { ...grpc, ...produceOnce, 'grpc-encoding': 'magic' }, grpcFrame(Buffer.alloc(10), 10, 1), { 'grpc-status': '12' }],
  ])('%s', async (_what, headers, body, answer) => {
    expect(await sendHttp2(house.cluster.broker(1), headers, body)).toMatchObject(answer);
  }); // prettier-ignore
});

describe('messages that are too large or cannot be decoded end their call alone', () => {
  test('a message over the limit of 64 MiB on a stream', async () => {
    const transport = new GrpcTransport({
      logger: silentLogger,
      limits: { maxMessageBytes: 2 ** 28 },
    });
    const connection = transport.connect(house.cluster.broker(1), 'client');
    const produce = sentAsBytes(methods.broker.produce);
    const { error } = await endOfStream(connection, produce, [Buffer.alloc(2 ** 26 + 1)]);
    expectRefusal(error, 'INVALID_ARGUMENT', /Produce to .*larger than max/);
    const after = await connection.call(methods.broker.metadata, {}, { timeoutMs });
    expect(after.brokers).toHaveLength(3);
    await transport.close();
  });

  test.each(allMethods)('$path: bytes that are no message', async (method) => {
    const bytes = Buffer.from([0xff]);
    const says = new RegExp(`the bytes are not a ${method.up.messageName}`);
    if (method.kind === 'unary') {
      return expectRefused(house.call(sentAsBytes(method), bytes), 'INVALID_ARGUMENT', says);
    }
    const stream = sentAsBytes(method) as never;
    const { error } = await endOfStream(house.connection(1), stream, [bytes]);
    expectRefusal(error, 'INVALID_ARGUMENT', says);
  });

  test('an empty request to any method, and noise: an answer or a refusal, never a defect', async () => {
    const random = seededRandom(11);
    const noise = (): Buffer => noiseOf(12, random);
    for (const method of allMethods) {
      for (const bytes of [Buffer.alloc(0), noise(), noise(), noise()]) {
        const sent = sentAsBytes(method) as never;
        const end = await (method.kind === 'unary'
          ? house.call(sent, bytes).then(
              () => undefined,
              (thrown: unknown) => thrown,
            )
          : endOfStream(house.connection(1), sent, [bytes]).then(({ error }) => error));
        const code = end === undefined ? 'none' : (end as TributaryError).code;
        expect([method.path, code === 'none' || (isErrorCode(code) && code !== 'INTERNAL')]).toEqual([method.path, true]); // prettier-ignore
      }
    }
  });
});

describe.each(streamKinds)('a $name stream', ({ method, first, later }) => {
  async function refusalOf(...messages: object[]): Promise<Refusal | null | undefined> {
    const { error, received } = await endOfStream(house.connection(1), method, messages);
    // A control stream says it in order, as its last message.
    return error ?? (received.at(-1) as { error?: Refusal }).error;
  }

  test.each(badHellos)('to $what is refused', async ({ hello, code, says }) => {
    expectRefusal(await refusalOf(first(hello)), code, says);
  });

  test('without a hello is refused', async () => {
    expectRefusal(await refusalOf(later), 'INVALID_ARGUMENT', /hello/);
    expectRefusal(await refusalOf({}), 'INVALID_ARGUMENT', /hello/);
  });
});

describe('who says hello as somebody else', () => {
  test.each([
    ['nobody', {}, 'INVALID_ARGUMENT', /a follower names its broker id and epoch/],
    ['an unknown broker', { senderBrokerId: 77, brokerEpoch: 5 }, 'UNKNOWN_BROKER', /broker 77 is not known here/],
    ['an earlier life of a broker', { senderBrokerId: 2, brokerEpoch: 1 }, 'FENCED_BROKER_EPOCH', /broker 2 is in epoch \d+, not 1/],
  ] as const)('a follower: %s', async (_who, dialer, code, says) => {
    const messages = [{ hello: clientHello(dialer) }];
    const end = await endOfStream(house.connection(1), methods.replication.follow, messages);
    expectRefusal(end.error, code, says);
  }); // prettier-ignore

  test.each([
    ['of an earlier epoch', 0, 'STALE_CONTROLLER_EPOCH', /controller epoch 0 is over/],
    ['that means an earlier life of the broker', 2 ** 31 - 1, 'FENCED_BROKER_EPOCH', /broker epoch 1 was expected, this is/],
  ] as const)('a controller %s', async (_which, controllerEpoch, code, says) => {
    const dialer = clientHello({ senderBrokerId: 2 });
    const hello = { hello: dialer, controllerId: 2, expectedBrokerEpoch: 1 };
    const session = methods.control.session;
    const { received } = await endOfStream(house.connection(1), session, [{ hello, controllerEpoch }]);
    expectRefusal(received.at(-1)!.error, code, says);
    // The true controller goes on: it can still make topics.
    const { brokers } = await house.client.admin().describeCluster();
    expect(brokers.map(({ eligible }) => eligible)).toEqual([true, true, true]);
  }); // prettier-ignore

  test('a controller that dials in the name of another', async () => {
    const dialer = clientHello({ senderBrokerId: 3 });
    const hello = { hello: dialer, controllerId: 2, expectedBrokerEpoch: 1 };
    const { received } = await endOfStream(house.connection(1), methods.control.session, [
      { hello, controllerEpoch: 2 ** 31 - 1 },
    ]);
    expectRefusal(received.at(-1)!.error, 'INVALID_ARGUMENT');
  });

  test('a second hello ends the stream', async () => {
    const hello = { hello: clientHello() };
    const { error } = await endOfStream(house.connection(1), methods.broker.produce, [
      hello,
      hello,
    ]);
    expectRefusal(error, 'INVALID_ARGUMENT', /one hello comes first, then requests/);
  });
});

describe('topics that cannot be', () => describeImpossibleTopics(() => house));
describe('groups that cannot be', () => describeImpossibleGroups(() => house));
describe('the SDK and the command line used wrongly', () => describeMisuseOfClients(() => house));
