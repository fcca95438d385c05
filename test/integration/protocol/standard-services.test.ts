/** A broker's port as grpcurl and clients in other languages see it: nothing here uses our client side. */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  credentials,
  loadPackageDefinition,
  makeClientConstructor,
  status,
  type Client,
  type ClientDuplexStream,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as health } from 'grpc-health-check';
import { FileDescriptorProto, type IFileDescriptorProto } from 'protobufjs/ext/descriptor';
import { silentLogger, TributaryError } from '@tributary/common';
import {
  bidiHandler,
  GrpcTransport,
  methods,
  unaryHandler,
  type Listener,
} from '@tributary/protocol';

type AnyCall = (
  request: object,
  done: (error: ServiceError | null, answer: object) => void,
) => void;
type AnyStream = () => ClientDuplexStream<object, object>;

const transport = new GrpcTransport({ logger: silentLogger });
const clients: Client[] = [];
let listener: Listener;

beforeAll(async () => {
  listener = await transport.listen({
    listener: 'outside',
    host: '127.0.0.1',
    port: 0,
    handlers: [
      unaryHandler(methods.broker.metadata, async ({ topics }) => {
        if (topics.length === 0) throw new TributaryError('UNKNOWN_TOPIC', 'name a topic');
        return { clusterId: 'here', topics: topics.map((topic) => ({ topic })) };
      }),
      bidiHandler(methods.broker.produce, (stream) => {
        stream.handle({
          onMessage: ({ request }) => {
            const size = request?.partitions[0]?.batch?.length ?? 0;
            stream.send({ response: { results: [{ baseOffset: size }], last: true } });
          },
          onEnd: () => stream.end(),
          onClose: () => undefined,
        });
      }),
    ],
  });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await transport.close();
});

function client(service: ServiceDefinition): Client & Record<string, unknown> {
  const Constructor = makeClientConstructor(service, 'any');
  const made = new Constructor(`127.0.0.1:${listener.address.port}`, credentials.createInsecure());
  clients.push(made);
  return made;
}

function call(service: ServiceDefinition, name: string, request: object): Promise<object> {
  const one = client(service);
  return new Promise((resolve, reject) => {
    (one[name] as AnyCall).call(one, request, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

const healthService = health as ServiceDefinition;
const protoLoaderOptions = { longs: Number, enums: String, defaults: true, oneofs: true };

describe('grpc.health.v1', () => {
  it.each(['', 'tributary.v1.Broker'])('says that "%s" is serving', async (service) => {
    expect(await call(healthService, 'check', { service })).toMatchObject({ status: 'SERVING' });
  });

  it('does not know what is not served', async () => {
    const unknown = call(healthService, 'check', { service: 'tributary.v1.Group' });
    await expect(unknown).rejects.toMatchObject({ code: status.NOT_FOUND });
  });
});

describe.each(['v1', 'v1alpha'])('grpc.reflection.%s', (version) => {
  const packageDir = dirname(createRequire(__filename).resolve('@grpc/reflection/package.json'));
  const file = join(packageDir, `build/proto/grpc/reflection/${version}/reflection.proto`);
  const loaded = loadPackageDefinition(loadSync(file, protoLoaderOptions)) as unknown as {
    grpc: { reflection: Record<string, { ServerReflection: { service: ServiceDefinition } }> };
  };
  const { service } = loaded.grpc.reflection[version]!.ServerReflection;

  async function ask(request: object): Promise<Record<string, never>> {
    const reflection = client(service);
    const stream = (reflection['serverReflectionInfo'] as AnyStream).call(reflection);
    stream.write(request);
    const [answer] = (await once(stream, 'data')) as [Record<string, never>];
    stream.end();
    return answer;
  }

  it('lists the services that are served', async () => {
    const answer = await ask({ listServices: '*' });
    const { service: services } = answer['listServicesResponse'] as unknown as {
      service: { name: string }[];
    };
    expect(services.map(({ name }) => name)).toEqual(['tributary.v1.Broker']);
  });

  it('describes messages with the field names of proto/', async () => {
    const answer = await ask({ fileContainingSymbol: 'tributary.v1.Broker' });
    const { fileDescriptorProto } = answer['fileDescriptorResponse'] as unknown as {
      fileDescriptorProto: Buffer[];
    };
    const files = fileDescriptorProto.map(
      (bytes) => FileDescriptorProto.decode(bytes) as IFileDescriptorProto,
    );
    const messages = files.flatMap((one) => one.messageType ?? []);
    const request = messages.find(({ name }) => name === 'ProduceRequest');
    expect(request?.field?.map(({ name }) => name)).toContain('correlation_id');
  });
});

describe('a client that proto-loader made', () => {
  const root = join(__dirname, '../../../proto');
  const definitions = loadSync('tributary/v1/broker.proto', {
    ...protoLoaderOptions,
    includeDirs: [root],
  });
  const broker = definitions['tributary.v1.Broker'] as unknown as ServiceDefinition;

  it('calls', async () => {
    const answer = await call(broker, 'Metadata', { topics: ['logs'] });
    expect(answer).toMatchObject({ clusterId: 'here', topics: [{ topic: 'logs' }] });
  });

  it('gets errors as status, with code and message in the text', async () => {
    await expect(call(broker, 'Metadata', {})).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: 'UNKNOWN_TOPIC: name a topic',
    });
  });

  it('streams to our own serializers', async () => {
    const one = client(broker);
    const stream = (one['Produce'] as AnyStream).call(one);
    const answers: object[] = [];
    stream.on('data', (answer: object) => answers.push(answer));
    stream.write({ request: { partitions: [{ topic: 'logs', batch: Buffer.alloc(70_000) }] } });
    stream.end();
    await once(stream, 'end');
    expect(answers).toMatchObject([
      { response: { results: [{ baseOffset: 70_000 }], last: true } },
    ]);
  });
});
