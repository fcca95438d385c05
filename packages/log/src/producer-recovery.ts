/**
 * Producer states of a log that is being opened: the newest snapshot that checks, then the headers of the batches behind
 * it as the segments are read anyway, so that recovery reads each byte once. Snapshots that recovery did not believe are
 * made again on the way, one where each segment begins: once retention has removed what lies before that, no batch
 * tells of its producers any more. Called by the loader.
 */
import type { BatchHeader } from '@tributary/record';
import type { RecoveryObserver } from './log-recovery';
import type { ProducerStates } from './producer-states';
import type { Segment } from './segment';

export class ProducerRecovery implements RecoveryObserver {
  constructor(
    private readonly states: ProducerStates,
    /** Batches from here on are not in the snapshot. */
    private readonly from: number,
    private readonly keep: (offset: number, states: ProducerStates) => void,
  ) {}

  begins({ baseOffset }: Segment): void {
    if (baseOffset > this.from) this.keep(baseOffset, this.states);
  }

  trusted(segment: Segment, following = Infinity): void {
    if (Math.min(following, segment.nextOffset) <= this.from) return;
    for (const { header } of segment.scan(this.from)) this.verified(header);
    segment.unloadIndexes();
  }

  verified(header: BatchHeader): void {
    if (header.baseOffset >= this.from) this.states.record(header);
  }
}
