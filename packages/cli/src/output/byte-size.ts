/** Counts of bytes for people: `1.2 GiB`. Powers of 1,024, as in the settings; programs get the bare number. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function byteSize(bytes: number): string {
  let size = Math.max(0, bytes);
  let unit = 0;
  // 1023.96 KiB would be shown as 1024.0 KiB.
  for (; size >= (unit === 0 ? 1_024 : 1_023.95) && unit < UNITS.length - 1; unit += 1) {
    size /= 1_024;
  }
  return `${unit === 0 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}
