/** Prints what a command has to say as the caller wants it, and tells of partitions that were refused. Called by the commands. */
import type { PartitionResult } from '@tributary/client';
import { renderJson, renderTable, type Row } from '../output/render';
import { outputFormat, type ConnectionOptions } from './connection';

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

/** Each partition is told; then the first refusal ends the command. */
export function printPartitionResults(
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
  const refused = results.find(({ error }) => error);
  if (refused?.error) throw refused.error;
}
