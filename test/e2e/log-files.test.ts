/**
 * The way of a real user: files of log lines go in by the command line, a group of two reads them, one of the
 * two is killed, and every line comes back byte for byte, in order per partition.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DevCluster } from '@tributary/testkit';
import { startTrib, trib, type TribProcess } from '../integration/cluster/trib';

interface Printed {
  readonly partition: number;
  readonly offset: string;
  readonly value?: string | null;
  readonly valueBase64?: string;
}

/** Lines as log files have them: CR LF, lone CR, empty, not UTF-8, no LF at the end. */
function awkwardLines(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => {
    const number = Buffer.from(`${i} `);
    switch (i % 5) {
      case 0:
        return Buffer.concat([number, Buffer.from('ends with CR\r')]);
      case 1:
        return Buffer.concat([number, Buffer.from('a lone \r inside')]);
      case 2:
        return Buffer.concat([number, Buffer.from([0xff, 0xfe, 0x00, 0x80])]);
      case 3:
        return Buffer.concat([number, Buffer.from('ünïcödé ✓ \t "quoted"')]);
      default:
        return Buffer.concat([number, Buffer.alloc(300, 'long ')]);
    }
  });
}

function recordsOf(member: TribProcess): { partition: number; offset: number; value: Buffer }[] {
  const text = member.output.toString('latin1');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return Buffer.from(whole, 'latin1')
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { partition, offset, value, valueBase64 } = JSON.parse(line) as Printed;
      const bytes =
        valueBase64 === undefined ? Buffer.from(value ?? '') : Buffer.from(valueBase64, 'base64');
      return { partition, offset: Number(offset), value: bytes };
    });
}

describe('log files through the command line', () => {
  let cluster: DevCluster;
  let brokers: string[];
  let directory: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'tributary-e2e-'));
    cluster = await DevCluster.start({ brokers: 3 });
    brokers = ['--brokers', cluster.addresses.join(',')];
  }, 60_000);

  afterAll(async () => {
    await cluster?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('every byte of every line comes back, also when a member of the group is killed', async () => {
    const lines = awkwardLines(3000);
    const file = join(directory, 'some.log');
    writeFileSync(
      file,
      Buffer.concat(lines.flatMap((line, i) => (i === 0 ? [line] : [Buffer.from('\n'), line]))),
    );

    const created = await trib(['topic', 'create', 'files', '-p', '3', '-r', '3', ...brokers]);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const produced = await trib(['produce', 'files', '--file', file, '-o', 'json', ...brokers]);
    expect(produced.code).toBe(0);
    expect(JSON.parse(produced.stdout.toString())).toMatchObject({ topic: 'files', records: 3000 });

    const consume = [
      'consume',
      'files',
      '-g',
      'readers',
      '-o',
      'ndjson',
      '--session-timeout',
      '3000',
      ...brokers,
    ];
    const first = startTrib(consume);
    const second = startTrib(consume);
    const seen = (): number => new Set([...recordsOf(first), ...recordsOf(second)].map((r) => `${r.partition}@${r.offset}`)).size; // prettier-ignore
    await until(() => seen() === 3000, 'all lines were printed');

    first.child.kill('SIGKILL');
    await first.finished;
    const more = await trib(
      ['produce', 'files', ...brokers],
      Buffer.from('after 1\nafter 2\nafter 3\n'),
    );
    expect(more.code).toBe(0);
    for (const partition of ['0', '1', '2']) {
      await trib(
        ['produce', 'files', '-p', partition, ...brokers],
        Buffer.from(`to ${partition}\n`),
      );
    }
    const late = (): string[] => recordsOf(second).map((r) => r.value.toString()).filter((v) => /^(after|to) /.test(v)); // prettier-ignore
    await until(() => new Set(late()).size === 6, 'the survivor has taken over all partitions');
    second.child.kill('SIGINT');
    expect((await second.finished).code).toBe(130);

    const byPlace = new Map<string, Buffer>();
    for (const record of [...recordsOf(first), ...recordsOf(second)]) {
      const place = `${record.partition}@${record.offset}`;
      // The members may both have printed a record around the takeover; they never disagree about it.
      expect(byPlace.get(place)?.equals(record.value) ?? true).toBe(true);
      byPlace.set(place, record.value);
    }
    const original = new Map(lines.map((line, index) => [line.toString('latin1'), index]));
    const returned = new Set<number>();
    for (const partition of [0, 1, 2]) {
      const order = [...byPlace]
        .filter(([place]) => place.startsWith(`${partition}@`))
        .map(([place, value]) => ({
          offset: Number(place.split('@')[1]),
          index: original.get(value.toString('latin1')),
        }))
        .sort((a, b) => a.offset - b.offset)
        .filter(({ index }) => index !== undefined)
        .map(({ index }) => index as number);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      for (const index of order) returned.add(index);
    }
    expect(returned.size).toBe(3000);
  }, 90_000);

  test('consume -o value gives the file back, line for line', async () => {
    await trib(['topic', 'create', 'one', '-p', '1', ...brokers]);
    const input = Buffer.from('a\r\n\r\nb\rc\n\n\xfflast', 'latin1');
    expect((await trib(['produce', 'one', ...brokers], input)).code).toBe(0);
    const consumed = await trib(['consume', 'one', '--exit-at-end', ...brokers]);
    expect(consumed.code).toBe(0);
    expect(consumed.stdout).toEqual(Buffer.concat([input, Buffer.from('\n')]));
  }, 30_000);

  test('group list and group describe show who reads and how far', async () => {
    const groups = await trib(['group', 'list', '-o', 'json', ...brokers]);
    expect(JSON.parse(groups.stdout.toString())).toContainEqual({ group: 'readers' });
    const described = await trib(['group', 'describe', 'readers', '-o', 'json', ...brokers]);
    expect(described.code).toBe(0);
    expect(JSON.parse(described.stdout.toString())).toMatchObject({ group: 'readers' });
  }, 30_000);
});

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (condition()) return;
    await pause(100);
  }
  throw new Error(`it did not come to this: ${what}`);
}
