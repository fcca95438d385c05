/**
 * `partition.metadata`: which topic id a partition directory belongs to, so that a topic created again is another one.
 * A changed byte is noticed: a replica under a wrong id would be taken for another topic's, and an empty one made in
 * its place. Called by the log directory.
 */
import { TributaryError } from '@tributary/common';
import { ChecksummedTextFile } from './checksummed-text-file';
import type { Disk } from './disk';

export const PARTITION_METADATA_FILE = 'partition.metadata';
const VERSION = '0';
const TOPIC_ID = /^[A-Za-z0-9_-]{22}$/;

function formatPartitionMetadata(topicId: string): string {
  return `version: ${VERSION}\ntopic_id: ${topicId}\n`;
}

/** undefined: there is none. Throws UNKNOWN_FORMAT or CORRUPT_LOG. */
export function readTopicId(disk: Disk, directory: string): string | undefined {
  const file = new ChecksummedTextFile(disk, `${directory}/${PARTITION_METADATA_FILE}`);
  const text = file.read();
  return text === undefined ? undefined : parsePartitionMetadata(text, file.path);
}

/** Durable when it resolves, but for the entry of `directory` in its parent. */
export async function writeTopicId(disk: Disk, directory: string, topicId: string): Promise<void> {
  const file = new ChecksummedTextFile(disk, `${directory}/${PARTITION_METADATA_FILE}`);
  await file.write(formatPartitionMetadata(topicId));
}

/** Throws UNKNOWN_FORMAT or CORRUPT_LOG. */
function parsePartitionMetadata(text: string, path: string): string {
  const fields = new Map(
    text.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, Math.max(colon, 0)), line.slice(colon + 1).trim()];
    }),
  );
  const version = fields.get('version');
  const topicId = fields.get('topic_id') ?? '';
  if (version !== undefined && version !== VERSION) {
    throw new TributaryError(
      'UNKNOWN_FORMAT',
      `${path} has version ${version}, this program knows ${VERSION}`,
    );
  }
  if (version === undefined || !TOPIC_ID.test(topicId)) {
    throw new TributaryError('CORRUPT_LOG', `${path} names no topic id`, { details: { path } });
  }
  return topicId;
}
