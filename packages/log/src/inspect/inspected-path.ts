/** What a path that a person names is: a file of a segment, another file of a log, a partition, a log directory. */
import { TributaryError } from '@tributary/common';
import type { Disk } from '../disk';
import { META_FILE } from '../meta-properties';

export type SegmentFileKind = 'log' | 'index' | 'timeindex' | 'seal' | 'snapshot';

export type InspectedPath =
  | {
      readonly kind: 'segment-file';
      readonly path: string;
      readonly directory: string;
      readonly baseOffset: number;
      readonly file: SegmentFileKind;
    }
  | { readonly kind: 'text-file'; readonly path: string; readonly directory: string }
  | { readonly kind: 'partition'; readonly directory: string }
  | { readonly kind: 'log-directory'; readonly directory: string };

const SEGMENT_FILE = /^([0-9]{20})\.(log|index|timeindex|seal|snapshot)$/;
const TEXT_FILE = /^(leader-epoch-checkpoint|partition\.metadata|[a-z-]+-checkpoint|meta\.properties|\.kafka_cleanshutdown|\.tributary_running|\.tributary_placement)$/; // prettier-ignore

/** @param path absolute. Throws INVALID_ARGUMENT. */
export function inspectedPath(disk: Disk, path: string): InspectedPath {
  if (!disk.exists(path)) throw refused(path, 'there is no such file or directory');
  if (disk.isDirectory(path)) return inspectedDirectory(disk, path);
  const slash = path.lastIndexOf('/');
  const [directory, name] = [path.slice(0, slash), path.slice(slash + 1)];
  const match = SEGMENT_FILE.exec(name);
  if (match) {
    const file = match[2] as SegmentFileKind;
    return { kind: 'segment-file', path, directory, baseOffset: Number(match[1]), file };
  }
  if (TEXT_FILE.test(name)) return { kind: 'text-file', path, directory };
  throw refused(path, 'it is no file of a log');
}

function inspectedDirectory(disk: Disk, directory: string): InspectedPath {
  const names = disk.list(directory);
  if (names.some((name) => SEGMENT_FILE.test(name)) || names.includes('partition.metadata')) {
    return { kind: 'partition', directory };
  }
  if (names.includes(META_FILE)) return { kind: 'log-directory', directory };
  throw refused(directory, 'it is neither a partition nor a log directory');
}

function refused(path: string, problem: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', `${path}: ${problem}`, {
    hint: 'Name a segment file (0...0.log), a partition directory (orders-0), or a log directory (with meta.properties).',
    details: { path },
  });
}
