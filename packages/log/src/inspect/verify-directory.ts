/** A whole log directory: what it says about itself and about all partitions, then each partition. Called by inspect. */
import { hasCode, parsePartitionName } from '@tributary/common';
import { parseOffsets } from '../checkpoint-format';
import { CLEAN_MARKER_FILE } from '../clean-shutdown-marker';
import { META_FILE } from '../meta-properties';
import { PLACEMENT_FILE } from '../placement-record';
import { RUNNING_MARKER_FILE } from '../running-marker';
import { readIfThere } from './read-whole';
import { MEANING } from './report';
import {
  checkMetaProperties,
  checkPlacement,
  MARKER,
  readRunningMarker,
  readWithCompanion,
} from './text-file-check';
import { verifyPartition } from './verify-partition';
import type { InspectionContext } from './verify-segment';

const CHECKPOINT = /^[a-z-]+-checkpoint$/;

export async function verifyDirectory(
  context: InspectionContext,
  directory: string,
): Promise<void> {
  const { disk, report } = context;
  checkMetaProperties(disk, `${directory}/${META_FILE}`, report);
  checkMarkers(context, directory);
  checkPlacement(disk, `${directory}/${PLACEMENT_FILE}`, report);
  for (const name of disk.list(directory)) {
    const path = `${directory}/${name}`;
    if (CHECKPOINT.test(name)) checkCheckpoint(context, path);
    if (!disk.isDirectory(path)) continue;
    if (parsePartitionName(name)) await verifyPartition(context, path);
    else report.note(`${path} is set aside, and not looked at: name it to have it verified`);
  }
}

export function checkCheckpoint({ disk, report }: InspectionContext, path: string): void {
  const before = report.damages;
  const text = readWithCompanion(disk, path, report, MEANING.checkpoint);
  if (text === undefined || report.damages > before) return;
  try {
    parseOffsets(text, path);
  } catch (error) {
    if (!hasCode(error, 'CORRUPT_LOG', 'UNKNOWN_FORMAT')) throw error;
    const problem = error.message.replace(`${path}: `, '');
    report.damage({ path, problem, meaning: MEANING.checkpoint });
  }
}

/** Both tell the broker epoch of the last life, if they tell one. */
export function checkMarkers({ disk, report }: InspectionContext, directory: string): void {
  const running = readRunningMarker(disk, `${directory}/${RUNNING_MARKER_FILE}`, report);
  const path = `${directory}/${CLEAN_MARKER_FILE}`;
  const clean = readIfThere(disk, path)?.toString();
  if (clean === undefined) return;
  const epoch = epochIn(clean);
  const expected = running === undefined ? undefined : epochIn(running);
  if (epoch === undefined || !/^\{"version":0,"brokerEpoch":-?[0-9]+\}$/.test(clean)) {
    report.damage({ path, problem: 'it is not what a clean stop writes', meaning: MARKER });
  } else if (expected !== undefined && epoch >= 0 && epoch !== expected) {
    const problem = `it names broker epoch ${epoch}, the running marker names ${expected}`;
    report.damage({ path, problem, meaning: MARKER });
  }
}

function epochIn(json: string): number | undefined {
  try {
    const { brokerEpoch } = JSON.parse(json) as { brokerEpoch?: unknown };
    return typeof brokerEpoch === 'number' ? brokerEpoch : undefined;
  } catch {
    return undefined; // not JSON
  }
}
