/** `trib debug segment dump|verify PATH`: looks into the files of a log, of a broker that is stopped or runs. */
import { resolve } from 'node:path';
import { systemClock, TributaryError } from '@tributary/common';
import { dumpPath, InspectionReport, NodeDisk, verifyPath, type Damage } from '@tributary/log';
import { Option, type Command } from 'commander';
import { renderJsonLine } from '../output/render';
import { dataOutput } from '../output/standard-output';
import { wholeNumber } from './arguments';
import { dumpLineAsJson, DumpText } from './dump-lines';
import { runCommand } from './run-command';

/** Of one file there can be as many as batches: what is beyond is only counted. */
const DAMAGES_PRINTED_MAX = 1000;
/** Offsets are larger than the counts of other commands. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;
/** So much output is written at once. */
const CHUNK_CHARS = 64 * 1024;

interface SegmentOptions {
  readonly output: string;
  readonly debug?: boolean;
}

interface DumpCommandOptions extends SegmentOptions {
  readonly records?: boolean;
  readonly offset?: string;
  readonly limit?: string;
}

export function registerDebugCommands(program: Command): void {
  const debug = program.command('debug').description('look into the files of a broker');
  const segment = debug
    .command('segment')
    .description('PATH: a segment file, a partition directory or a log directory');
  withOutput(segment.command('dump <path>').description('print batches, index entries, producers'))
    .option('--records', 'with the records of each batch')
    .option('--offset <offset>', 'from the batch that holds this offset on')
    .option('--limit <count>', 'so many batches')
    .action(runCommand(dump));
  withOutput(
    segment
      .command('verify <path>')
      .description('check every byte; say which is wrong, and what that means'),
  ).action(runCommand(verify));
}

function withOutput(command: Command): Command {
  return command
    .addOption(
      new Option('-o, --output <format>', 'how to print; json: one object a line')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addOption(new Option('--json', 'the same as -o json').implies({ output: 'json' }))
    .option('--debug', 'show causes and stacks of an error');
}

async function dump(args: readonly string[], options: DumpCommandOptions): Promise<void> {
  const { records } = options;
  const lines = dumpPath(new NodeDisk(), resolve(args[0] as string), {
    records: records === true,
    ...(options.offset === undefined
      ? {}
      : { offset: wholeNumber(options.offset, '--offset', MAX_OFFSET) }),
    ...(options.limit === undefined
      ? {}
      : { limit: wholeNumber(options.limit, '--limit', MAX_OFFSET) }),
  });
  const output = dataOutput();
  const text = new DumpText();
  let chunk = '';
  for await (const line of lines) {
    chunk += isJson(options) ? renderJsonLine(dumpLineAsJson(line)) : text.render(line);
    if (chunk.length < CHUNK_CHARS) continue;
    await output.write(Buffer.from(chunk));
    chunk = '';
  }
  await output.write(Buffer.from(chunk));
}

async function verify(args: readonly string[], options: SegmentOptions): Promise<void> {
  const path = resolve(args[0] as string);
  const json = isJson(options);
  const report = new InspectionReport(
    (damage) => {
      if (report.damages > DAMAGES_PRINTED_MAX) return;
      process.stdout.write(
        json ? renderJsonLine({ type: 'damage', ...damage }) : damageText(damage),
      );
    },
    (note) => {
      if (json) process.stdout.write(renderJsonLine({ type: 'note', note }));
      else process.stderr.write(`note: ${note}\n`);
    },
  );
  await verifyPath({ disk: new NodeDisk(), clock: systemClock, report }, path);
  const { damages, counts } = report;
  if (json) process.stdout.write(renderJsonLine({ type: 'summary', path, damages, ...counts }));
  if (damages > 0) {
    throw new TributaryError(
      'CORRUPT_LOG',
      `${path}: ${damages === 1 ? 'one thing is' : `${damages} things are`} not as written`,
      { details: { path, damages } },
    );
  }
  if (json) return;
  const { partitions, segments, batches, records, bytes } = counts;
  const scope = partitions > 0 ? `${partitions} partitions, ` : '';
  process.stdout.write(
    `${path} is sound: ${scope}${segments} segments, ${batches} batches, ${records} records, ${bytes} bytes\n`,
  );
}

function damageText({ path, position, problem, meaning }: Damage): string {
  const where = position === undefined ? path : `${path}: position ${position}`;
  return `${where}: ${problem}\n  ${meaning}\n`;
}

function isJson({ output }: SegmentOptions): boolean {
  return output === 'json';
}
