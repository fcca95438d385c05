/** Prints what a command has to say as the caller wants it, and tells of partitions that were refused. Called by the commands. */
import type { PartitionResult } from '@tributary/client';
import { TributaryError } from '@tributary/common';
import { renderJson, renderTable, type Row } from '../output/render';
import { outputFormat, type ConnectionOptions } from './connection';

/** One message shall fit on a screen. */
const MAX_REFUSALS_TOLD = 10;

export function printResult(
  options: ConnectionOptions,
  document: unknown,
  columns: readonly string[],
  rows: readonly Row[],
): void {
  process.stdout.write(
    outputFormat(options) === 'json' ? renderJson(document) : renderTable(columns, rows),
  );
}

/** Each partition is told; then the refusals end the command. */
export function printPartitionResults(
  options: ConnectionOptions,
  results: readonly PartitionResult[],
  done: string,
): void {
  listPartitionResults(options, results, done);
  const refusal = refusalOf(results);
  if (refusal) throw refusal;
}

export function listPartitionResults(
  options: ConnectionOptions,
  results: readonly PartitionResult[],
  done: string,
): void {
  const rows = results.map(({ topic, partition, error }) => ({
    topic,
    partition,
    result: error?.code ?? done,
  }));
  const document = results.map(({ error, topic, topicId, partition }) => ({
    topic,
    topicId,
    partition,
    ...(error ? { error: error.toJSON() } : {}),
  }));
  printResult(options, document, ['topic', 'partition', 'result'], rows);
}

/** What a command whose partitions were partly refused ends with: the first one's code, and all of them by name. */
export function refusalOf(results: readonly PartitionResult[]): TributaryError | undefined {
  const refused = results.flatMap(({ topic, partition, error }) =>
    error ? [{ name: `${topic}-${partition}`, error }] : [],
  );
  const first = refused[0]?.error;
  if (!first || refused.length === 1) return first;
  const told = refused.slice(0, MAX_REFUSALS_TOLD).map(({ name, error: { message } }) => {
    return message.includes(name) ? message : `${name}: ${message}`;
  });
  const more = refused.length - told.length;
  const text = [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  const { code, hint, outcome } = first;
  const message = `${refused.length} of ${results.length} partitions were refused: ${text}`;
  return new TributaryError(code, message, {
    hint,
    ...(outcome === undefined ? {} : { outcome }),
  });
}
