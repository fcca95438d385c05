/** Collects batches and writes them to a segment in larger pieces. Called while a group is recopied. */
import type { BatchHeader } from '@tributary/record';
import type { Segment } from '../segment';

export class CleanedWriter {
  private batches: Buffer[] = [];
  private headers: BatchHeader[] = [];
  private bytes = 0;

  constructor(
    readonly segment: Segment,
    private readonly pieceBytes: number,
  ) {}

  /** Throws DISK_FULL or STORAGE_ERROR. */
  add(batch: Buffer, header: BatchHeader): void {
    this.batches.push(batch);
    this.headers.push(header);
    this.bytes += batch.length;
    if (this.bytes >= this.pieceBytes) this.flush();
  }

  flush(): void {
    if (this.bytes === 0) return;
    this.segment.append(Buffer.concat(this.batches), this.headers);
    this.batches = [];
    this.headers = [];
    this.bytes = 0;
  }
}
