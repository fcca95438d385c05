/** How far moves of replicas are, in words. Invariant: what a leader does not tell is said to be unknown. Pure. Called by `topic reassign`. */
import type { AddedReplica, OngoingReassignment } from '@tributary/client';
import { byteSize } from '../output/byte-size';
import type { Progress } from './wait-until';

/** Each replica that is added: `4: 1.2 GiB of 2.0 GiB, 48.0 MiB/s, 73120 offsets behind`. */
export function progressTexts(adding: readonly AddedReplica[]): string[] {
  return adding.map((added) => `${added.brokerId}: ${progressText(added)}`);
}

function progressText({ inSync, progress, unknown }: AddedReplica): string {
  if (inSync) return 'in sync';
  if (!progress) return `unknown${unknown === undefined ? '' : ` (${unknown})`}`;
  const { bytes, leaderBytes, bytesPerSecond, throttleBytesPerSecond } = progress;
  const behind = progress.leaderEndOffset - progress.endOffset;
  const throttle =
    throttleBytesPerSecond === undefined
      ? ''
      : ` (throttle ${byteSize(throttleBytesPerSecond)}/s of this leader)`;
  const rate = `${byteSize(bytesPerSecond)}/s${throttle}`;
  return `${byteSize(bytes)} of ${byteSize(leaderBytes)}, ${rate}, ${behind} offsets behind`;
}

export function moveProgress(found: readonly OngoingReassignment[]): Progress {
  if (found.length === 0) return { done: true, lines: ['nothing is being moved any more'] };
  return { done: false, lines: found.map(moveLine), details: found.map(details) };
}

function moveLine({ topic, partition, adding, removing }: OngoingReassignment): string {
  const ready = adding.filter(({ inSync }) => inSync).length;
  const behind = adding.filter(({ inSync }) => !inSync).map(({ brokerId }) => brokerId);
  const waiting = behind.length > 0 ? `, brokers ${behind.join(', ')} catch up` : '';
  const leaving = removing.length > 0 ? `, then ${removing.join(', ')} leave` : '';
  return `${topic}-${partition}: ${ready} of ${adding.length} new replicas in sync${waiting}${leaving}`;
}

function details({ adding }: OngoingReassignment): string {
  return progressTexts(adding.filter(({ inSync }) => !inSync)).join('; ');
}
