/** `partition.metadata`: which topic id a partition directory belongs to, so that a topic created again is another one. */
import { TributaryError } from '@tributary/common';

export const PARTITION_METADATA_FILE = 'partition.metadata';
const VERSION = '0';
const TOPIC_ID = /^[A-Za-z0-9_-]{22}$/;

export function formatPartitionMetadata(topicId: string): string {
  return `version: ${VERSION}\ntopic_id: ${topicId}\n`;
}

/** Throws UNKNOWN_FORMAT or CORRUPT_LOG. */
export function parsePartitionMetadata(text: string, path: string): string {
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
