/**
 * `.tributary_placement`: which replica of this broker lies in which of its log directories; the same in each of them.
 * So when one fails, the others still know what was on it, and no empty replica comes in its place. Invariant: a changed
 * byte is noticed; of several versions the one with the highest generation counts. Pure but for the file's name.
 *
 * ```
 * placement 0
 * generation 12
 * directory <directory id> <path>
 * replica <directory id> <topic id> <partition> <topic>
 * crc32c 1a2b3c4d
 * ```
 */
import { partitionKey, TributaryError } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { ReplicaId } from './log-store';

export const PLACEMENT_FILE = '.tributary_placement';
const FIRST_LINE = 'placement 0';
const LAST_LINE = /^crc32c ([0-9a-f]{8})$/;

export interface Placement extends ReplicaId {
  readonly directoryId: string;
}

export interface PlacementRecord {
  readonly generation: number;
  /** Where each directory was, by its id: for people, and to tell a replaced disk from one that is offline. */
  readonly paths: ReadonlyMap<string, string>;
  /** By partition key. */
  readonly placements: ReadonlyMap<string, Placement>;
}

export function formatPlacement({ generation, paths, placements }: PlacementRecord): string {
  const lines = [
    FIRST_LINE,
    `generation ${generation}`,
    ...[...paths].map(([id, path]) => `directory ${id} ${path}`),
    ...[...placements.values()].map(
      ({ directoryId, topicId, partition, topic }) =>
        `replica ${directoryId} ${topicId} ${partition} ${topic}`,
    ),
  ];
  const text = `${lines.join('\n')}\n`;
  return `${text}crc32c ${checksumOf(text)}\n`;
}

/** Throws CORRUPT_LOG, or UNKNOWN_FORMAT for one that a later version wrote. */
export function parsePlacement(text: string, path: string): PlacementRecord {
  const lines = text.split('\n');
  const end = lines.pop();
  const [, checksum] = LAST_LINE.exec(lines.pop() ?? '') ?? [];
  const body = `${lines.join('\n')}\n`;
  if (end !== '' || checksum !== checksumOf(body)) {
    const message = `${path}: its checksum does not match`;
    throw new TributaryError('CORRUPT_LOG', message, { details: { path } });
  }
  if (lines.shift() !== FIRST_LINE) {
    throw new TributaryError('UNKNOWN_FORMAT', `${path} is of a version that is not known here`);
  }
  const paths = new Map<string, string>();
  const placements = new Map<string, Placement>();
  let generation = 0;
  for (const line of lines) {
    const [kind, first = '', ...rest] = line.split(' ');
    if (kind === 'generation') generation = Number(first);
    else if (kind === 'directory') paths.set(first, rest.join(' '));
    else {
      const [topicId = '', partition = '', topic = ''] = rest;
      const placement = { directoryId: first, topicId, partition: Number(partition), topic };
      placements.set(partitionKey(topicId, placement.partition), placement);
    }
  }
  return { generation, paths, placements };
}

function checksumOf(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, '0');
}
