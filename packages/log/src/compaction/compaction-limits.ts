/** What compaction may use. One set per log directory, for the one pass that runs there at a time. */
export interface CompactionLimits {
  /** Memory of the key map: 24 bytes per slot, three of four slots in use. What does not fit waits for the next pass. */
  readonly maxKeyMapBytes: number;
  /** Read and written between two rests: so long an append waits for it at the most, but for one larger batch. */
  readonly compactionSliceBytes: number;
  /** Read and written per second, rests included. */
  readonly maxCompactionBytesPerSecond: number;
  /** What one batch may inflate to. */
  readonly maxInflatedBytes: number;
}

export const defaultCompactionLimits: CompactionLimits = {
  maxKeyMapBytes: 64 * 1024 * 1024,
  compactionSliceBytes: 256 * 1024,
  maxCompactionBytesPerSecond: 32 * 1024 * 1024,
  maxInflatedBytes: 64 * 1024 * 1024,
};
