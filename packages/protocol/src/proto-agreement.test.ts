/** The tables that repeat what proto/ says, compared with it. */
import { errorCodes } from '@tributary/common';
import { Service, type Namespace } from 'protobufjs';
import { codecOf, generalCodec } from './codec';
import { methods } from './methods';
import { protoRoot } from './proto-definitions.fixture';

const protocol = protoRoot.lookup('tributary.v1') as Namespace;

describe('the error codes', () => {
  it('are the enum ErrorCode in proto/, with NONE before them', () => {
    const table = Object.entries(errorCodes).map(([name, { number }]) => [name, number]);
    expect(protoRoot.lookupEnum('tributary.v1.ErrorCode').values).toEqual(
      Object.fromEntries([['NONE', 0], ...table]),
    );
  });
});

describe('the table of methods', () => {
  const services = protocol.nestedArray.filter((entry) => entry instanceof Service);

  it('lists every RPC in proto/, with its path and kind', () => {
    const inProto = services.flatMap((service) =>
      service.methodsArray.map((method) => ({
        path: `/tributary.v1.${service.name}/${method.name}`,
        kind: method.requestStream && method.responseStream ? 'bidi' : 'unary',
      })),
    );
    const inTable = Object.values(methods).flatMap((service) =>
      Object.values(service).map(({ path, kind }) => ({ path, kind })),
    );
    expect(inTable).toEqual(inProto);
  });

  it('gives each RPC the message types of proto/', () => {
    for (const service of services) {
      for (const method of service.methodsArray) {
        const group = methods[service.name.toLowerCase() as keyof typeof methods];
        const name = method.name[0]!.toLowerCase() + method.name.slice(1);
        const entry = group[name as keyof typeof group] as (typeof methods.broker)['metadata'];
        expect(entry.up.messageName).toBe(method.requestType);
        expect(entry.down.messageName).toBe(method.responseType);
      }
    }
  });
});

describe('a newer peer', () => {
  it('is understood although it sends fields and enum values that this version lacks', () => {
    const unknownField = Buffer.from('c23e03616263', 'hex'); // field 1000, three bytes
    const request = Buffer.concat([
      codecOf('MetadataRequest').encode({ topics: ['a'] }),
      unknownField,
    ]);
    expect(codecOf('MetadataRequest').decode(request)).toMatchObject({ topics: ['a'] });

    const response = generalCodec<object, { results: object[] }>('ListOffsetsRequest');
    const spec = Buffer.from('0a02284d', 'hex'); // partitions { spec: 77 }
    expect(response.decode(spec)).toMatchObject({ partitions: [{ spec: 77 }] });
  });

  it('is refused with INVALID_ARGUMENT when it sends no message at all', () => {
    for (const name of ['MetadataRequest', 'ProduceUp', 'ControlDown']) {
      expect(() => codecOf(name).decode(Buffer.from('garbage'))).toThrow(/the bytes are not a/);
    }
  });
});
