/**
 * How many of the process's descriptors each log directory may hold: half of all are for the logs, the rest for
 * connections. Called by the composition of a real broker.
 */

/** More would hold much memory of the kernel for little: that of some 5,000 partitions that are written to. */
export const OPEN_FILES_CEILING = 16_384;
/** As where the limit is not known: of 1,024. */
const OPEN_FILES_FLOOR = 800;

/** @param limit of the process; undefined: not known. */
export function openFilesPerDirectory(limit: number | undefined, directories: number): number {
  const share = Math.floor((limit ?? 0) / 2 / directories);
  return Math.min(OPEN_FILES_CEILING, Math.max(Math.floor(OPEN_FILES_FLOOR / directories), share));
}
