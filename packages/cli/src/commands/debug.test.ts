/** `trib debug segment` on real files: what it prints, and its exit codes. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTopicConfig, silentLogger, systemClock, systemRandom } from '@tributary/common';
import { LogDirectory, NodeDisk } from '@tributary/log';
import { makeBatch } from '@tributary/testkit';
import { createProgram, run } from '../program';
import { registerDebugCommands } from './debug';

const root = fs.mkdtempSync(join(tmpdir(), 'tributary-debug-'));
const segment = `${root}/orders-0/${'0'.repeat(20)}.log`;
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  const store = await LogDirectory.open({
    disk: new NodeDisk(),
    directory: root,
    brokerId: 1,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    configFor: () => defaultTopicConfig,
  });
  const log = await store.create('orders', 'AAAAAAAAAAAAAAAAAAAAAA', 0, defaultTopicConfig);
  const values = ['plain', '\ud83d\ude00 two'];
  log.appendAsLeader(makeBatch({ values, producer: [5, 1, 0] }), { leaderEpoch: 3 });
  log.appendAsLeader(makeBatch({ values: ['x'.repeat(2000)] }), { leaderEpoch: 3 });
  await store.close({ clean: true, brokerEpoch: 1 });
});

async function trib(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const into = (name: 'out' | 'err') =>
    jest
      .spyOn(process[name === 'out' ? 'stdout' : 'stderr'], 'write')
      .mockImplementation((chunk, ...rest) => {
        printed[name] += chunk.toString();
        const done = rest.at(-1);
        if (typeof done === 'function') done();
        return true;
      });
  const spies = [into('out'), into('err')];
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await run(createProgram(registerDebugCommands), ['node', 'trib', 'debug', 'segment', ...args]);
    return { code: process.exitCode ?? 0, ...printed };
  } finally {
    process.exitCode = before;
    spies.forEach((spy) => spy.mockRestore());
  }
}

const lines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('dump prints a line a batch, from an offset on', async () => {
  const { code, out } = await trib('dump', root, '--offset', '1', '--limit', '1');
  expect(code).toBe(0);
  expect(out).toContain(segment);
  expect(out).toMatch(/ 0-1 +2 +3 +none +ok .*CreateTime +5 epoch 1 sequence 0 to 1\n$/);
});

test('dump with records prints one object a line, values cut to a bound', async () => {
  const { out } = await trib('dump', segment, '--records', '--json');
  expect(lines(out)).toMatchObject([
    { type: 'file', path: segment },
    {
      type: 'batch',
      baseOffset: 0,
      lastOffset: 1,
      leaderEpoch: 3,
      codec: 'none',
      crcMatches: true,
    },
    { type: 'record', offset: 0, key: null, value: 'plain', headers: [] },
    { type: 'record', offset: 1, value: '\ud83d\ude00 two' },
    { type: 'batch', baseOffset: 2, producerId: -1 },
    { type: 'record', offset: 2, value: 'x'.repeat(1024), valueBytes: 2000 },
  ]);
});

test('--json beside another format is refused, beside its own it is not', async () => {
  const { code, err } = await trib('dump', segment, '-o', 'table', '--json');
  expect([code, err]).toEqual([2, expect.stringContaining('--json and --output table exclude')]);
  expect((await trib('dump', segment, '-o', 'json', '--json')).code).toBe(0);
});

test('verify prints one line where every byte is right', async () => {
  const { code, out } = await trib('verify', root);
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(
      / is sound: 1 partitions, 1 segments, 2 batches, 3 records, \d+ bytes\n$/,
    ),
  ]);
});

test('verify names the file, the position and the meaning of a wrong byte, and fails', async () => {
  const bytes = fs.readFileSync(segment);
  const damaged = Buffer.from(bytes);
  damaged[70]! ^= 0x20;
  fs.writeFileSync(segment, damaged);
  try {
    const { code, out, err } = await trib('verify', root);
    expect(code).toBe(1);
    expect(out).toContain(`${segment}: position 70: `);
    expect(out).toContain('refilled from its peers');
    expect(err).toContain('code=CORRUPT_LOG');
    const told = lines((await trib('verify', segment, '--json')).out);
    expect(told).toMatchObject([
      { type: 'damage', path: segment, position: 70 },
      { type: 'summary', damages: 1, segments: 1 },
    ]);
  } finally {
    fs.writeFileSync(segment, bytes);
  }
});

test('what is no log is refused', async () => {
  expect(await trib('verify', tmpdir())).toMatchObject({
    code: 2,
    err: expect.stringContaining('neither a partition nor a log directory'),
  });
  expect(await trib('dump', root, '--limit', 'x')).toMatchObject({ code: 2 });
});
