import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { registerDataCommands } from './commands';
import { registerDevCommands } from './dev';
import { createProgram, run } from './program';

async function exitCodeOf(
  ...args: string[]
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const program = createProgram(registerDataCommands, registerDevCommands);
  let stdout = '';
  let stderr = '';
  everyCommand(program, (command) =>
    command.configureOutput({
      writeOut: (text) => (stdout += text),
      writeErr: (text) => (stderr += text),
    }),
  );
  const before = process.exitCode;
  await run(program, ['node', 'trib', ...args]);
  const code = process.exitCode;
  process.exitCode = before;
  return { code: code ?? 0, stdout, stderr };
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  command.commands.forEach((child) => everyCommand(child, visit));
}

test('help lists every noun and the exit codes, and is not a failure', async () => {
  const { code, stdout } = await exitCodeOf('--help');
  expect(code).toBe(0);
  for (const noun of [
    'topic',
    'produce',
    'consume',
    'group',
    'cluster',
    'broker',
    'debug',
    'dev',
  ]) {
    expect(stdout).toMatch(new RegExp(`^ {2}${noun}\\b`, 'm'));
  }
  expect(stdout).toContain('Exit codes:');
});

test.each([
  [['dvv'], 'unknown command'],
  [['dev', 'up', '--brokers', '0'], 'must be a whole number from 1 to 9'],
  [['dev', 'up', '--zookeeper-nodes', '2'], 'Allowed choices are 1, 3'],
  [['produce', 't', '--codec', 'zip'], 'Allowed choices are none, gzip, snappy, lz4, zstd'],
  [['topic', 'create'], "missing required argument 'topic'"],
])('usage errors have exit code 2: %j', async (args, message) => {
  const { code, stderr } = await exitCodeOf(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr).toMatch(/^error: .+\nhint: .+\ncode=INVALID_ARGUMENT\n$/);
});

test('usage errors say what may have been meant, or where to read on', async () => {
  expect((await exitCodeOf('topic', 'crate')).stderr).toContain('hint: Did you mean create?');
  expect((await exitCodeOf('topic', 'create')).stderr).toContain(
    'hint: See trib topic create --help.',
  );
});

test.each([
  [['topic', 'create', '-o', 'json']],
  [['topic', 'create', 'a', 'b', '--output=json']],
  [['topic', 'list', '--nonsense', '-ojson']],
])('usage errors are JSON where JSON was asked for: %j', async (args) => {
  const { code, stderr } = await exitCodeOf(...args);
  expect([code, JSON.parse(stderr)]).toEqual([
    2,
    { error: expect.objectContaining({ code: 'INVALID_ARGUMENT' }) },
  ]);
});

test('docs/cli.md names every command', () => {
  const page = readFileSync(join(__dirname, '../../../docs/cli.md'), 'utf8');
  const named: string[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    if (command.commands.length === 0) named.push(path.join(' '));
    for (const child of command.commands) visit(child, [...path, child.name()]);
  };
  visit(createProgram(registerDataCommands), []);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
});
