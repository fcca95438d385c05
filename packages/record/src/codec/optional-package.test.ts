/** A package that is missing: told when a codec is first needed, by name, with the command that installs it. */
import { createRequire } from 'node:module';
import { TributaryError } from '@tributary/common';
import { BatchBuilder } from '../batch-builder';
import { validateBatch } from '../batch-validator';
import type { Codec } from './codec';
import { CodecSet, standardCodecs } from './codec-set';
import { lz4Codec } from './lz4';
import { noneCodec } from './none';
import { snappyCodec } from './snappy';
import { zstdCodec } from './zstd';
import { zstdEngine } from './zstd-engine';

const { optionalDependencies: versions } = createRequire(__filename)('../../package.json') as {
  optionalDependencies: Record<string, string>;
};
const absent = jest.fn((name: string): unknown => {
  throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
});
const unloadable = (): unknown => {
  throw new Error('Cannot find native binding');
};
const made: [string, (require: (name: string) => unknown) => Codec][] = [
  ['snappy', snappyCodec],
  ['lz4-napi', lz4Codec],
  // As on a Node without zstd.
  ['@toondepauw/node-zstd', (require) => zstdCodec(require, zstdEngine(require, {}))],
];

beforeEach(() => absent.mockClear());

describe.each(made)('%s', (name, make) => {
  test('not installed: codec, package and command are named, whatever is asked of the codec', () => {
    const codec = make(absent);
    expect(absent).not.toHaveBeenCalled();
    for (const use of [
      () => codec.load(),
      () => codec.compress(Buffer.from('x')),
      () => codec.decompress(Buffer.from('x'), 1),
    ]) {
      expect(failure(use)).toMatchObject({
        code: 'UNSUPPORTED_CODEC',
        message: `codec ${codec.name} needs the npm package ${name}, which is not installed here: npm install ${name}@${versions[name]}`,
        details: {
          codec: codec.name,
          package: name,
          command: `npm install ${name}@${versions[name]}`,
        },
      });
    }
    expect(absent).toHaveBeenCalledTimes(1);
  });

  test('no binary for this platform: the platform is named', () => {
    const { message } = failure(() => make(unloadable).load());
    expect(message).toContain(
      `${name}, which does not load on ${process.platform}-${process.arch}`,
    );
  });
});

test('zstd without its package: a newer Node would do', () => {
  const codec = zstdCodec(absent, zstdEngine(absent, {}));
  expect(failure(() => codec.load()).hint).toMatch(/Node 22\.15/);
});

test('zstd of a Node that has it: no package is asked for', () => {
  const builtIn = {
    zstdCompressSync: (bytes: Buffer) => Buffer.concat([Buffer.from('own '), bytes]),
    zstdDecompressSync: () => Buffer.from('own'),
  };
  const codec = zstdCodec(absent, zstdEngine(absent, builtIn));
  codec.load();
  expect(codec.compress(Buffer.from('x')).toString()).toBe('own x');
  expect(absent).not.toHaveBeenCalled();
});

test('a broker without the package refuses the batch, not written, and tells it from an unknown codec', () => {
  const builder = new BatchBuilder({ codec: 'snappy' });
  builder.append({ key: null, value: Buffer.from('v'), headers: [], timestamp: 1 });
  const batch = builder.build();
  const limits = { maxBatchBytes: 1_000, maxRecordsPerBatch: 1, now: 1, maxFutureMs: 0 };
  expect(validateBatch(batch, limits).codec).toBe('snappy');
  const lacking = new CodecSet([noneCodec, snappyCodec(absent)]);
  expect(failure(() => validateBatch(batch, { ...limits, codecs: lacking }))).toMatchObject({
    code: 'UNSUPPORTED_CODEC',
    outcome: 'not written',
    details: { package: 'snappy' },
  });
  const without = new CodecSet([noneCodec]);
  expect(failure(() => validateBatch(batch, { ...limits, codecs: without }))).toMatchObject({
    code: 'UNSUPPORTED_CODEC',
    message: 'codec snappy is not supported here; supported: none',
    details: {},
  });
  expect(() => new BatchBuilder({ codec: 'snappy', codecs: lacking })).toThrow(
    /npm install snappy/,
  );
});

test('the standard set knows all codecs', () => {
  expect(standardCodecs.names).toEqual(['none', 'gzip', 'snappy', 'lz4', 'zstd']);
  for (const [id, name] of standardCodecs.names.entries()) {
    expect(standardCodecs.byName(name)).toBe(standardCodecs.byId(id));
  }
});

function failure(work: () => unknown): TributaryError {
  try {
    work();
  } catch (error) {
    if (error instanceof TributaryError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}
