/** What compaction may use. One set per log directory, for the one pass that runs there at a time. */
export interface CompactionLimits {
  /** Memory of the key map: 24 bytes per slot, three of four slots in use. What does not fit waits for the next pass. */
  readonly maxKeyMapBytes: number;
  /** Read and written between two rests. An append waits for the rest of a slice at the most. */
  readonly compactionSliceBytes: number;
  /** A slice ends after this time, too, but for one batch that takes longer. */
  readonly compactionSliceMs: number;
  /** Of the time, from above 0 to 1: after a slice it rests so long that no more of the time was work. */
  readonly maxCompactionShare: number;
  /** Read and written per second, rests included. */
  readonly maxCompactionBytesPerSecond: number;
  /** What one batch may inflate to. */
  readonly maxInflatedBytes: number;
}

export const defaultCompactionLimits: CompactionLimits = {
  maxKeyMapBytes: 64 * 1024 * 1024,
  compactionSliceBytes: 256 * 1024,
  compactionSliceMs: 5,
  maxCompactionShare: 0.5,
  maxCompactionBytesPerSecond: 32 * 1024 * 1024,
  maxInflatedBytes: 64 * 1024 * 1024,
};
